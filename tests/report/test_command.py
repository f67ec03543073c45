"""The command line: what it prints at two widths, for machines, and for each thing that can be wrong."""

import csv
import json
import os
import subprocess
import sys

import pytest

import roofline_lessons as rl
from roofline_lessons.__main__ import main

COMMAND = [sys.executable, "-m", "roofline_lessons"]


def run(*arguments, columns=120, **environment):
    """The command as a process: exit code, what it prints, what it complains about."""
    env = os.environ | {"COLUMNS": str(columns), "PYTHONIOENCODING": "utf-8"} | environment
    arguments = [str(a) for a in arguments]
    return subprocess.run([*COMMAND, *arguments], capture_output=True, encoding="utf-8", env=env)


def printed(capsys, *arguments):
    """What `main` prints, in this process."""
    assert main([str(a) for a in arguments]) == 0
    return capsys.readouterr().out


def words(text):
    return " ".join(text.split())


@pytest.mark.parametrize("columns", [60, 120])
def test_the_report_fits_the_terminal(file, columns):
    done = run(file, "--device", "jetson-orin-nano", "--precision", "int8", columns=columns)
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) <= columns
    made = rl.report_on_file(file, "jetson-orin-nano", "int8")
    text = words(done.stdout)
    assert "mobile.onnx on NVIDIA Jetson Orin Nano" in text and f"{made.graph.macs:,} MACs" in text
    assert words(" ".join(made.advice)) in text and made.memory.sentence in text
    for name, est in made.estimates.items():
        assert f"{name} {rl.si(est.seconds, 's')}" in text
    for k in made.slowest(10):
        assert f"{k.name} {rl.si(k.seconds, 's')}" in text and k.because in text
    for c in made.changes:
        assert f"{c.what} {rl.si(c.seconds, 's')}" in text


def test_numbers_for_machines(file, capsys):
    found = json.loads(printed(capsys, file, "--json", "--slowest", 2))
    assert found == rl.report_on_file(file, "raspberry-pi-5").to_dict(2)


def test_as_a_command_for_machines(file):
    done = run(file, "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["macs"] == rl.networks.mobilenet_v1(resolution=64).macs


def test_a_page_and_a_table_are_written(file, tmp_path, capsys):
    page, table = tmp_path / "r.html", tmp_path / "r.csv"
    assert main([str(file), "--html", str(page), "--csv", str(table)]) == 0
    assert f"written: {page}" in capsys.readouterr().err
    assert "mobile.onnx" in page.read_text(encoding="utf-8")
    with table.open(encoding="utf-8", newline="") as kept:
        assert len(list(csv.DictReader(kept))) > 100


def test_a_network_of_the_lessons_instead_of_a_file(capsys):
    found = json.loads(printed(capsys, "--network", "ds_cnn", "--batch", 4, "--rules", "tvm", "--json"))
    assert found["macs"] == 4 * rl.networks.ds_cnn().macs
    assert [p["name"] for p in found["plans"]] == ["unfused", "tvm", "best legal fusion"]
    found = json.loads(printed(capsys, "--network", "mobilenet_v1", "--size", "resolution=64", "--json"))
    assert found["macs"] == rl.networks.mobilenet_v1(resolution=64).macs


def test_open_sizes_are_given(odd, capsys):
    assert "batch=1 is assumed" in words(printed(capsys, odd))
    assert "assumed" not in words(printed(capsys, odd, "--size", "batch=1"))
    assert "assumed" not in words(printed(capsys, odd, "--batch", 1))


def test_what_is_not_known_is_said(odd, capsys):
    text = words(printed(capsys, odd))
    assert "50 % of the bytes are moved by operators whose FLOPs are not known" in text and "own.Odd" in text


def test_the_catalogue(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    text = printed(capsys, "--list-devices")
    assert all(id in text for id in rl.devices())
    assert "fp32, fp16, int8" in text


def test_names_in_a_file_are_shown_as_they_are(hostile):
    done = run(hostile)
    assert done.returncode == 0
    assert "[red]x[/red]" in done.stdout and "\x1b" not in done.stdout


def test_a_terminal_with_few_letters_gets_question_marks(file):
    done = run(file, PYTHONIOENCODING="ascii")
    assert done.returncode == 0 and done.stderr == ""


# -- what can be wrong -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments, said", [
    (["--device", "raspbery-pi-5"], ["unknown device 'raspbery-pi-5': did you mean 'raspberry-pi-5'", "h100-sxm"]),
    (["--precision", "int7"], ["unknown precision 'int7': did you mean", "w4a16"]),
    (["--precision", "tf32"], ['no peak for "tf32" on Raspberry Pi 5', "it has fp32, fp16, int8"]),
    (["--rules", "onnx"], ["unknown rule set 'onnx'", "depth-first"]),
    (["--size", "batch"], ["--size must be NAME=N with a whole number, e.g. batch=1, not 'batch'"]),
    (["--size", "batch=1"], ["unknown size of mobile.onnx 'batch'"]),
    (["--batch", "2"], ["unknown size of mobile.onnx 'batch'"]),
    (["--batch", "two"], ["argument --batch: invalid int value: 'two'"]),
    (["--slowest", "0"], ["--slowest must be a whole number of at least 1, not 0"]),
    (["--html", "r.pdf"], ["--html needs a file name that ends in .html, not 'r.pdf'"]),
    (["--csv", "r.xls"], ["--csv needs a file name that ends in .csv, not 'r.xls'"]),
    (["--network", "ds_cnn"], ["give either the path of a model file, or --network", "mobilenet_v2"]),
])  # fmt: skip
def test_bad_arguments_get_what_is_allowed(file, capsys, arguments, said):
    try:
        code = main([str(file), *arguments])
    except SystemExit as stopped:
        code = stopped.code
    complaint = capsys.readouterr()
    assert code == 2 and complaint.out == ""
    assert all(s in complaint.err for s in said), complaint.err


@pytest.mark.parametrize("arguments, said", [
    ([], ["give either the path of a model file, or --network", "mobilenet_v2"]),
    (["--network", "mobilenet_v9"], ["unknown network 'mobilenet_v9': did you mean 'mobilenet_v"]),
    (["--network", "fork", "--batch", "2"], ["unknown size of fork 'batch'", "Allowed: elements"]),
    (["--network", "ds_cnn", "--batch", "0"], ["0"]),
])  # fmt: skip
def test_bad_networks_get_what_is_allowed(arguments, said):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "") and "Traceback" not in done.stderr
    assert all(s in done.stderr for s in said), done.stderr


@pytest.mark.parametrize("content, said", [
    (None, "there is no such file"), (b"", "the file is empty"), (b"I am a text.\n" * 30, "it is not an ONNX file"),
])  # fmt: skip
def test_a_file_that_is_no_model_gets_a_sentence(tmp_path, content, said):
    path = tmp_path / "broken.onnx"
    if content is not None:
        path.write_bytes(content)
    done = run(path)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"broken.onnx: {said}" in done.stderr and "Traceback" not in done.stderr


def test_a_page_that_cannot_be_written_gets_a_sentence(file, tmp_path):
    done = run(file, "--html", tmp_path / "no folder" / "r.html")
    assert (
        done.returncode == 1 and "r.html: No such file or directory" in done.stderr and "Traceback" not in done.stderr
    )


@pytest.mark.skipif(os.name == "nt", reason="a closed pipe is another error there")
@pytest.mark.parametrize(
    "arguments", [["--network", "ds_cnn"], ["--network", "bert_base", "--json", "--slowest", "500"]]
)
def test_a_reader_who_has_heard_enough_is_no_error(arguments):
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()  # before anything is printed
    assert process.stderr.read() == b""
    process.stderr.close()
    process.wait()


def test_help_lists_what_is_allowed(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    assert all(name in text for name in ("raspberry-pi-5", "w4a16", "onnxruntime", "mobilenet_v2", "--list-devices"))
