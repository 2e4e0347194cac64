# In a clone: nix run '.?dir=packaging/nix' -- simulate easy-sjf
{
  description = "batprotocol: the protocol between Batsim and schedulers, a command, and a library";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
    in
    {
      packages = each (pkgs: rec {
        batprotocol = pkgs.python3Packages.callPackage ./package.nix { };
        default = batprotocol;
      });

      apps = each (pkgs: {
        default = {
          type = "app";
          program = "${self.packages.${pkgs.system}.default}/bin/batproto";
        };
      });

      # A Python that can import batprotocol, the command, and the programs of a developer.
      devShells = each (pkgs: {
        default = pkgs.mkShell {
          packages = [
            (pkgs.python3.withPackages (python: [
              self.packages.${pkgs.system}.default
              python.matplotlib
              python.pytest
            ]))
            pkgs.flatbuffers
            pkgs.zeromq
          ];
        };
      });
    };
}
