# Set-up, tests and chores. Needs Python 3.11 or newer with venv, and nothing else beforehand.
# Kept plain enough for the make 3.81 that macOS has.

VENV   := .venv
PY     := $(VENV)/bin/python
PIP    := $(PY) -m pip install --quiet --disable-pip-version-check
PYTEST := $(PY) -m pytest
START  := notebooks/00_start_here.ipynb
STRIP  := find notebooks -name '*.ipynb' ! -path '*/.*' -exec $(PY) -m nbstripout --keep-count --keep-id
say     = @printf '%s  %s\n' "$$(date +%H:%M:%S)"

# some JupyterHubs set PIP_USER=1, with which pip refuses to install into an environment
export PIP_USER := 0

help:
	@echo "make lab         start JupyterLab with the lessons   (LAB_ARGS=--no-browser adds options)"
	@echo "make test        check and test everything           (CHROME=path names a browser, CHROME=none skips it)"
	@echo "make bench       measure how fast the model and the sliders are"
	@echo "make pictures    draw the pictures that stand in for widgets"
	@echo "make format      format code and notebooks, strip notebooks of output"
	@echo "make lock        write the locks anew after a change in pyproject.toml   (LOCK_ARGS=--upgrade: newest versions)"
	@echo "make export      write environment.yml and binder/ anew from the lock"
	@echo "make clean       remove the environment and all that is generated and not committed"
	@echo "The first two make the environment in $(VENV) when they need it. PYTHON=/path/to/python3 says with which Python."

lab: $(VENV)/lab.stamp
	$(say) "Starting JupyterLab with $(START). Stop it with Ctrl-C."
	@root=; if [ "$$(id -u)" = 0 ]; then root=--allow-root; fi; \
	exec $(PY) -m jupyterlab --ServerApp.root_dir="$(CURDIR)" --LabApp.default_url=/lab/tree/$(START) $$root $(LAB_ARGS)

# Notebooks whose name starts with _ are no lessons. One worker runs the whole of a notebook (loadscope).
# The browser's tests come last and alone: they need the machine's time, and the line that closes them closes the run.
test: $(VENV)/test.stamp
	$(say) "Checking code and notebooks (ruff, mypy, nbstripout)."
	@$(PY) -m ruff check --quiet .
	@$(PY) -m ruff format --quiet --check . || { echo "Not formatted as agreed: make format does it."; exit 1; }
	@$(PY) -m mypy
	@$(STRIP) --verify {} + || { echo "Notebooks hold output that is not kept: make format strips it."; exit 1; }
	$(say) "Looking for a browser."
	@$(PY) -m tests.browser_finder
	$(say) "Testing the model, the readers, the set-up and the notebooks."
	@$(PYTEST) -n auto --maxprocesses 4 --dist loadscope --max-worker-restart 0 \
	    --nbval-lax --nbval-current-env --nbval-cell-timeout 60 --ignore-glob='*/_*.ipynb' \
	    --ignore=tests/browser tests notebooks
	$(say) "Testing in the browser."
	@$(PYTEST) tests/browser

bench: $(VENV)/test.stamp
	@$(PY) -m tests.browser_finder
	@$(PY) benchmarks/bench.py

pictures: $(VENV)/test.stamp
	@$(PY) -m tests.notebooks.pictures

format: $(VENV)/test.stamp
	@$(PY) -m ruff check --fix .
	@$(PY) -m ruff format .
	@$(STRIP) {} +

# Existing pins stay unless LOCK_ARGS says otherwise. uv is fetched if it is not there.
# The tests' lock is the lab's and more: the same versions of what both hold.
COMPILE = PATH="$$PATH:$(CURDIR)/$(VENV)/bin" uv pip compile --quiet --universal --generate-hashes \
	--python-version 3.11 --custom-compile-command "make lock" pyproject.toml
lock: $(PY)
	@command -v uv >/dev/null || $(PIP) uv
	$(say) "Choosing versions for the lab."
	@$(COMPILE) $(LOCK_ARGS) --extra lab --extra engines --output-file requirements.lock
	$(say) "Choosing versions for the tests."
	@$(COMPILE) $(LOCK_ARGS) --extra all --extra test --constraints requirements.lock --output-file requirements-test.lock
	@$(PY) scripts/export_env.py

export: $(PY)
	@$(PY) scripts/export_env.py

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis tests/browser/artefacts
	find . -name __pycache__ -prune -exec rm -rf {} +
	find . -name .ipynb_checkpoints -prune -exec rm -rf {} +

$(PY):
	@scripts/make_venv.sh $(VENV)

# A stamp newer than its lock says that the lock is installed.
define install
$(say) "Installing the packages of $< into $(VENV): a minute or two the first time."
@$(PIP) --require-hashes -r $<
@$(PIP) --no-deps --no-build-isolation -e .
@echo "$(CURDIR)" > $(VENV)/installed-for
@touch $@
endef

# The project is on the path by its folder's name: once the folder is moved or copied, the stamps mean nothing.
$(shell grep -qsxF "$(CURDIR)" $(VENV)/installed-for || rm -f $(VENV)/*.stamp)

$(VENV)/lab.stamp: requirements.lock pyproject.toml $(PY)
	$(install)

$(VENV)/test.stamp: requirements-test.lock pyproject.toml $(PY)
	$(install)

.PHONY: help lab test bench pictures format lock export clean
