"""What a user gets: the sdist builds the wheel, the wheel holds what it should, and it works without a checkout."""

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
import loopguard
from loopguard import canonicalize, fingerprint, proto_dir
from pathlib import Path
assert canonicalize(b'{"b":1.0,"a":[]}') == b'{"a":[],"b":1}'
assert len(fingerprint(b"{}")) == 16
assert (Path(proto_dir()) / "loopguard/v1/guard.proto").is_file()
engine = loopguard.Engine()
run = engine.open("r", config={"enabled": True})
assert run.judge([loopguard.Call("exec", b"{}")])[0].action == "ALLOW"
assert not {"grpc", "google.protobuf", "typer", "rich"} & set(sys.modules), "the library alone needs no grpc"
print(Path(loopguard.__file__).parent)
"""


def run(*command: object, cwd: Path) -> str:
    # What is looked at here is what the packages hold, not how fast it is.
    quick = {**os.environ, "CFLAGS": "-O0"}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=quick, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # From a clean clone's files only, so that a file that is merely lying about can't help.
    checkout = tmp_path_factory.mktemp("checkout")
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).split("\0")
    for name in filter(None, listed):
        if not (ROOT / name).is_file():
            continue
        target = checkout / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
    out = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-m", "build", "-q", "--sdist", "--no-isolation", "--outdir", out, cwd=checkout)
    return next(out.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    out = tmp_path_factory.mktemp("wheel")
    source = next(folder.iterdir())
    run(sys.executable, "-m", "build", "-q", "--wheel", "--no-isolation", "--outdir", out, source, cwd=folder)
    return next(out.glob("*.whl"))


def test_the_sdist_has_every_source(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}

    wanted = {path.relative_to(ROOT).as_posix() for path in (ROOT / "loopguard/native").glob("*.hpp")}
    wanted |= {"LICENSE", "README.md", "setup.py", "loopguard/_core.pyx", "proto/loopguard/v1/guard.proto"}
    assert len(wanted) > 6
    assert wanted <= names
    assert not [name for name in names if name.endswith((".so", "_core.cpp"))]


def test_the_wheel_has_one_top_level_name_and_all_its_data(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())

    tops = {name.split("/", 1)[0] for name in names if ".dist-info/" not in name}
    assert tops == {"loopguard"}
    for pattern in (
        "loopguard/*.pyi", "loopguard/v1/*.py", "loopguard/v1/*.pyi", "loopguard/rules/*.toml", "server/*.py",
        "proto/loopguard/v1/*.proto",
    ):  # fmt: skip
        kept = {path.relative_to(ROOT).as_posix() for path in ROOT.glob(pattern)}
        shipped = {name if name.startswith("loopguard/") else f"loopguard/{name}" for name in kept}
        assert shipped, pattern
        assert shipped <= names, pattern
    assert "loopguard/py.typed" in names
    shipped_kinds = (".py", ".pyi", ".so", ".toml", ".proto", "/py.typed")
    assert not [name for name in names if ".dist-info/" not in name and not name.endswith(shipped_kinds)]
    tracked = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).splitlines()
    known = {name.replace("server/", "loopguard/server/").replace("proto/", "loopguard/proto/", 1) for name in tracked}
    known |= set(tracked)
    strangers = {name for name in names if not name.endswith(".so") and ".dist-info/" not in name} - known
    assert not strangers


def test_the_wheel_works_elsewhere(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv/bin/python"
    run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", wheel, cwd=tmp_path)

    home = run(python, "-c", PROGRAM, cwd=tmp_path).strip()

    assert Path(home).is_relative_to(tmp_path)
    bare = subprocess.run([tmp_path / "venv/bin/loopguard", "serve"], capture_output=True, text=True, check=False)
    assert bare.returncode == 2
    assert "loopguard-grpc[server]" in bare.stderr or "loopguard-grpc[cli]" in bare.stderr
    assert len(bare.stderr.strip().splitlines()) == 1
