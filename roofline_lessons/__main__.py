"""`python -m roofline_lessons model.onnx --device jetson-orin-nano --precision int8`: the report in a terminal."""

from __future__ import annotations

import argparse
import inspect
import os
import sys
from collections.abc import Sequence
from typing import Any

from . import networks
from .device import device, devices
from .errors import ModelFileError, unknown_name
from .fusion import RULE_SETS
from .graph import Graph
from .precision import NAMED
from .reports import Report, report, report_on_file

#: Exit codes: a file that cannot be read or written; arguments that are not allowed.
NO_FILE, BAD_ARGUMENTS = 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns its exit code; arguments that are not allowed exit with a list of what is."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal that has no × or µ shows ?
    try:
        code = _run(_parser(), arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read has heard enough, e.g. `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains when it ends
        code = 0
    return code


def _run(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> int:
    args = parser.parse_args(arguments)
    if args.list_devices:
        from .reports.terminal import show_devices

        show_devices(_console())
        return 0
    if (args.model is None) == (args.network is None):
        parser.error("give either the path of a model file, or --network with one of " + ", ".join(networks.__all__))
    try:
        made = _report(args)
        for path in filter(None, (args.html, args.csv)):
            print(f"written: {made.save(path)}", file=sys.stderr)
    except (ModelFileError, ImportError) as error:
        return _fail(parser, error, NO_FILE)
    except ValueError as error:
        return _fail(parser, error, BAD_ARGUMENTS)
    except OSError as error:
        return _fail(parser, f"{error.filename}: {error.strerror}", NO_FILE)
    _show(made, args)
    return 0


def _report(args: argparse.Namespace) -> Report:
    sizes = dict(map(_size, args.size)) | ({} if args.batch is None else {"batch": args.batch})
    for option, ending in (("html", ".html"), ("csv", ".csv")):
        if getattr(args, option) and not getattr(args, option).lower().endswith(ending):
            raise ValueError(f"--{option} needs a file name that ends in {ending}, not {getattr(args, option)!r}.")
    if args.slowest < 1:
        raise ValueError(f"--slowest must be a whole number of at least 1, not {args.slowest}.")
    chosen = device(args.device)
    if args.rules is not None and args.rules not in RULE_SETS:
        raise unknown_name("rule set", args.rules, RULE_SETS)
    if args.precision is not None:
        chosen.peak_for(args.precision)
    if args.network is not None:
        return report(_network(args.network, sizes), chosen, args.precision, rules=args.rules)
    return report_on_file(args.model, chosen, args.precision, rules=args.rules, **sizes)


def _network(name: str, sizes: dict[str, int]) -> Graph:
    """A network of the zoo, built with these arguments."""
    if name not in networks.__all__:
        raise unknown_name("network", name, networks.__all__)
    build = getattr(networks, name)
    allowed = [p.name for p in inspect.signature(build).parameters.values() if "int" in str(p.annotation)]
    for size in sizes:
        if size not in allowed:
            raise unknown_name(f"size of {name}", size, allowed)
    made: Graph = build(**sizes)
    return made


def _size(text: str) -> tuple[str, int]:
    name, sign, value = text.rpartition("=")
    if not (name and sign and value.isdecimal()):
        raise ValueError(f"--size must be NAME=N with a whole number, e.g. batch=1, not {text!r}.")
    return name, int(value)


def _show(made: Report, args: argparse.Namespace) -> None:
    if args.json:
        print(made.to_json(args.slowest))
        return
    from .reports.terminal import show

    show(made, _console(), args.slowest)


def _console() -> Any:
    from rich.console import Console

    class Plain(Console):
        """A console that leaves a closed pipe to `main`."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Plain(highlight=False)


def _fail(parser: argparse.ArgumentParser, error: object, code: int) -> int:
    print(f"{parser.prog}: {error}", file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m roofline_lessons",
        description="What a model costs on a device: time, traffic, its slowest kernels, and what fusing would change.",
        epilog=(
            f"devices: {', '.join(devices())}. precisions: {', '.join(NAMED)}. rule sets: {', '.join(RULE_SETS)}. "
            f"networks: {', '.join(networks.__all__)}."
        ),
    )
    parser.add_argument("model", nargs="?", help="an ONNX or TensorFlow Lite file")
    parser.add_argument("--network", metavar="NAME", help="a network that comes with the lessons, instead of a file")
    parser.add_argument("--device", default="raspberry-pi-5", help="an id of the catalogue (default: %(default)s)")
    parser.add_argument("--precision", help="a number format (default: what the file says: int8, or else fp32)")
    parser.add_argument("--rules", metavar="NAME", help="the rule set to compare with (default: of the file's engine)")
    parser.add_argument("--batch", type=int, metavar="N", help="the same as --size batch=N")
    parser.add_argument(
        "--size", action="append", default=[], metavar="NAME=N", help="a size that the file leaves open, e.g. batch=1"
    )
    parser.add_argument("--slowest", type=int, default=10, metavar="N", help="kernels to list (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="plain numbers for machines instead of tables")
    parser.add_argument("--html", metavar="FILE", help="write the report as a page, too")
    parser.add_argument("--csv", metavar="FILE", help="write all kernels as comma-separated values, too")
    parser.add_argument("--list-devices", action="store_true", help="print the catalogue of devices and stop")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
