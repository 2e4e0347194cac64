;;; In a clone: guix shell -L packaging/guix python-batprotocol -- batproto simulate easy-sjf

(define-module (batprotocol)
  #:use-module (guix build-system pyproject)
  #:use-module (guix download)
  #:use-module (guix gexp)
  #:use-module ((guix licenses) #:prefix license:)
  #:use-module (guix packages)
  #:use-module (guix utils)
  #:use-module (gnu packages check)
  #:use-module (gnu packages python-build)
  #:use-module (gnu packages python-check)
  #:use-module (gnu packages python-xyz)
  #:use-module (gnu packages serialization))

(define-public python-procset
  (package
    (name "python-procset")
    (version "1.0")
    (source
     (origin
       (method url-fetch)
       (uri (pypi-uri "procset" version))
       (sha256
        (base32 "0in13zi0a8q9m7qiawhmh6y2jnlny6xilscl9injp0h2x57im4hh"))))
    (build-system pyproject-build-system)
    (native-inputs (list python-setuptools python-wheel))
    (propagated-inputs (list python-intervaltree))
    (home-page "https://pypi.org/project/procset/")
    (synopsis "Sets of processors, as closed intervals of integers")
    (description
     "This package has a set of integers that is kept as intervals, for
schedulers: its operations take time by the number of intervals.")
    (license license:lgpl3+)))

(define-public python-batprotocol
  (package
    (name "python-batprotocol")
    (version "0.2.0")
    (source
     (local-file "../.." "batprotocol-checkout"
                 #:recursive? #t
                 #:select? (lambda (file stat)
                             (not (or (string-suffix? "/.git" file)
                                      (string-suffix? "/.venv" file)
                                      (string-suffix? "/build" file))))))
    (build-system pyproject-build-system)
    (arguments
     (list
      #:test-flags
      #~(list "--servers=none" "--engines=usual" "-m" "not slow"
              "tests/wire" "tests/builder" "tests/conversation" "tests/simulator")
      #:phases
      #~(modify-phases %standard-phases
          (add-before 'check 'test-what-was-built
            (lambda _
              (delete-file-recursively "batprotocol"))))))
    (native-inputs
     (list python-hypothesis
           python-mypy
           python-pytest
           python-pytest-timeout
           python-pytest-xdist
           python-setuptools
           python-wheel))
    (propagated-inputs
     (list python-click
           python-flatbuffers
           python-intervaltree
           python-msgspec
           python-mypy-extensions
           python-procset
           python-pyzmq
           python-rich
           python-sortedcontainers))
    (home-page "https://batsim.org")
    (synopsis "The protocol between Batsim and schedulers")
    (description
     "batprotocol has the values, both formats and the rules of the protocol
between the simulator Batsim and schedulers, a runtime for schedulers, and an
embedded simulator.  Its command is @command{batproto}.")
    (license license:lgpl3+)))

python-batprotocol
