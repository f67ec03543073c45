"""Reports: what a model costs on a device, what limits it and what would help; as tables, a page, or for machines."""

from .content import Report, precision_of, report, report_on_file

__all__ = ["Report", "precision_of", "report", "report_on_file"]
