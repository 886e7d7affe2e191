"""The Windows Subsystem for Linux: which version we are in, and what is different there."""

from __future__ import annotations

from tcptutor.install.finding import Finding, ok, warn


def version(release: str, build: str) -> int:
    """1 or 2, and 0 elsewhere, by the contents of /proc/sys/kernel/osrelease and /proc/version.

    WSL 1 is no Linux kernel and says so in both: "4.4.0-19041-Microsoft", "(Microsoft@Microsoft.com)". WSL 2 has one of
    Microsoft's build, "4.19.104-microsoft-standard" or "5.15.153.1-microsoft-standard-WSL2".
    """
    if release.endswith("-Microsoft") or "Microsoft@Microsoft.com" in build:
        return 1
    return 2 if "microsoft-standard" in release or "WSL2" in release else 0


def check(version: int, netem: bool, kvm: bool) -> list[Finding]:
    """The line about WSL, where we are in it: `netem` and `kvm` are whether its kernel has these."""
    if version == 0:
        return []
    if version == 1:
        return [
            warn(
                "wsl",
                "WSL 1 has no Linux kernel: no experiment runs here",
                "in Windows: wsl --set-version <distribution> 2 (wsl --list names them)",
            )
        ]
    lacking, remedies = [], []
    if not netem:
        lacking.append("its kernel has no netem: experiments run in the guest")
        remedies.append("wsl --update for a newer kernel")
    if not kvm:
        lacking.append("no nested virtualisation: the guest is emulated")
        remedies.append(
            "nestedVirtualization=true below [wsl2] in %UserProfile%\\.wslconfig (Windows 11, x86-64), wsl --shutdown"
        )
    if not lacking:
        return [ok("wsl", "WSL 2")]
    return [warn("wsl", f"WSL 2: {'; '.join(lacking)}", f"or leave it so; in Windows: {'; '.join(remedies)}")]
