# batprotocol as a package of Nix. `callPackage` of a set of Python packages gives it what it needs.
{
  lib,
  buildPythonPackage,
  fetchPypi,
  pythonOlder,
  setuptools,
  mypy,
  click,
  flatbuffers,
  intervaltree,
  msgspec,
  mypy-extensions,
  pyzmq,
  rich,
  sortedcontainers,
  tomli,
  hypothesis,
  pytestCheckHook,
  pytest-timeout,
  pytest-xdist,
}:

let
  procset = buildPythonPackage rec {
    pname = "procset";
    version = "1.0";
    pyproject = true;
    src = fetchPypi {
      inherit pname version;
      hash = "sha256-EJIaT+kCgittTJRpGrvxllopvIEVchXxqQkjBeIfwUY=";
    };
    build-system = [ setuptools ];
    dependencies = [ intervaltree ];
    pythonImportsCheck = [ "procset" ];
  };
in
buildPythonPackage {
  pname = "batprotocol";
  version = "0.2.0";
  pyproject = true;
  src = lib.cleanSource ../..;

  # The backend asks for mypy where there is a compiler: it compiles the rules and the simulator.
  build-system = [
    setuptools
    msgspec
    mypy
  ];
  dependencies = [
    click
    flatbuffers
    intervaltree
    msgspec
    mypy-extensions
    procset
    pyzmq
    rich
    sortedcontainers
  ]
  ++ lib.optionals (pythonOlder "3.11") [ tomli ];

  nativeCheckInputs = [
    hypothesis
    pytestCheckHook
    pytest-timeout
    pytest-xdist
  ];
  pytestFlags = [
    "--servers=none"
    "--engines=usual"
  ];
  disabledTestMarks = [ "slow" ];
  enabledTestPaths = [
    "tests/wire"
    "tests/builder"
    "tests/conversation"
    "tests/simulator"
  ];
  # What was built is tested, and not the source beside the tests.
  preCheck = ''
    rm -r batprotocol
  '';
  pythonImportsCheck = [
    "batprotocol"
    "batprotocol.wire._native"
  ];

  meta = {
    description = "The protocol between Batsim and schedulers: values, formats, rules, a runtime and an embedded simulator";
    homepage = "https://batsim.org";
    license = lib.licenses.lgpl3Plus;
    mainProgram = "batproto";
    platforms = lib.platforms.unix;
  };
}
