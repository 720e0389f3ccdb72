"""The figures, read by programs that know OpenMetrics: metrics.py URL DIRECTORY"""

import json
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path

from prometheus_client.openmetrics.parser import text_string_to_metric_families

url, work = sys.argv[1], Path(sys.argv[2])


def check(what, passed, found=""):
    print("ok" if passed else "not ok", "-", what, "" if passed else f": {found}", flush=True)


def fetch(address):
    with urllib.request.urlopen(address, timeout=10) as answer:
        return answer.headers, answer.read().decode()


def samples(text):
    """What the parser makes of it. It raises an error for whatever is against the standard."""
    families = list(text_string_to_metric_families(text))
    found = {}
    for family in families:
        for sample in family.samples:
            found[sample.name, tuple(sorted(sample.labels.items()))] = (sample.value, family.type)
    return families, found


headers, first = fetch(url + "metrics")
kind = headers["content-type"]
check("the content type is that of OpenMetrics", kind.startswith("application/openmetrics-text; version=1.0.0"), kind)
try:
    families, before = samples(first)
    check("a strict parser reads the text", True)
except ValueError as error:
    check("a strict parser reads the text", False, error)
    sys.exit(1)
check("there are many families", len(families) > 30, len(families))
check("each has help", all(family.documentation for family in families))
loops = {dict(labels).get("loop") for _, labels in before}
check("each sample has the name of its loop", loops == {"main", "background"}, loops)
for name, type in {
    "mainspring_ticks_total": "counter",
    "mainspring_busy_seconds_total": "counter",
    "mainspring_utilisation_ratio": "gauge",
    "mainspring_tick_duration_seconds": "gauge",
    "mainspring_queue_depth": "gauge",
    "mainspring_phase_seconds_total": "counter",
}.items():
    found = {type for (sample, _), (_, type) in before.items() if sample == name}
    check(f"{name} is a {type}", found == {type}, found)
statistics = {dict(labels).get("statistic") for (name, labels) in before if name == "mainspring_tick_duration_seconds"}
check("quantiles are labels", statistics == {"mean", "p50", "p90", "p95", "p99", "max"}, statistics)

time.sleep(1.5)
_, after = samples(fetch(url + "metrics")[1])
check("the samples stay the same ones", before.keys() == after.keys(), before.keys() ^ after.keys())
fallen = [key for key, (value, type) in before.items() if type == "counter" and after[key][0] < value]
check("no counter falls", not fallen, fallen)
ticks = ("mainspring_ticks_total", (("loop", "main"),))
check("the loop ticks", after[ticks][0] > before[ticks][0], after[ticks])

if shutil.which("promtool"):
    # It reads the older format, where the name of a counter has its suffix in the comments, too.
    counters = {family.name for family in families if family.type == "counter"}

    def renamed(match):
        name = match[2] + ("_total" if match[2] in counters else "")
        return f"# {match[1]} {name} "

    older = re.sub(r"^# (HELP|TYPE) (\S+) ", renamed, first, flags=re.MULTILINE)
    done = subprocess.run(["promtool", "check", "metrics"], input=older, text=True, capture_output=True)
    check("promtool has nothing to say", done.returncode == 0 and not done.stderr, done.stderr)
else:
    print("skipped - promtool is not installed")

if shutil.which("prometheus"):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    config = work / "prometheus.yml"
    target = urllib.parse.urlsplit(url).netloc
    config.write_text(
        "scrape_configs: [{job_name: mainspring, scrape_interval: 1s, scrape_timeout: 1s, "
        f"static_configs: [{{targets: ['{target}']}}]}}]\n"
    )
    shutil.rmtree(work / "prometheus", ignore_errors=True)
    log = (work / "prometheus.log").open("w")
    server = subprocess.Popen(
        ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={work / 'prometheus'}",
         f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log,
    )
    try:
        def query(text):
            query = urllib.parse.urlencode({"query": text})
            try:
                return json.loads(fetch(f"http://127.0.0.1:{port}/api/v1/query?{query}")[1])["data"]["result"]
            except OSError:
                return []

        deadline = time.monotonic() + 60
        found = []
        while not found and time.monotonic() < deadline:
            time.sleep(0.5)
            found = query('mainspring_queue_depth{queue="external"}')
        up = query("up")
        check("Prometheus scrapes it", [one["value"][1] for one in up] == ["1"], up)
        check("and has the figures of both loops", len(found) == 2, found)
    finally:
        server.terminate()
        server.wait()
else:
    print("skipped - prometheus is not installed")
print("end of metrics")
