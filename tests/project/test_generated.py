"""The protobuf code in the tree is what the pinned tools make of proto/."""

import filecmp
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_generated_code_is_fresh(tmp_path: Path) -> None:
    subprocess.run([ROOT / "tools/generate-protos.sh", "--to", tmp_path], check=True, cwd=ROOT)

    made = sorted(path.name for path in (tmp_path / "loopguard/v1").iterdir())
    kept = sorted(path.name for path in (ROOT / "loopguard/v1").iterdir() if "_pb2" in path.name)
    assert made == kept, "run `make protos`"
    same, different, missing = filecmp.cmpfiles(tmp_path / "loopguard/v1", ROOT / "loopguard/v1", made, shallow=False)
    assert (different, missing) == ([], []), "run `make protos`"
    assert len(same) == len(made)
