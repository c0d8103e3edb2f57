"""A worker of a chaos run in Python: the example of apps/examples/workers, with the handlers of project.ts.

worker.py URL NAME SLOTS PREFETCH FOLDER GRACE_MILLIS
"""
import json, os, sys, time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../apps/examples/workers/python"))
import worker

url, name, slots, prefetch, folder, grace = sys.argv[1:]
worker.HANDLERS.clear()
effects = os.open(os.path.join(folder, "effects.ndjson"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)


def note(kind, of, **more):
    line = dict(kind=kind, id=of.run, token=of.token, at=int(time.time() * 1000), worker=name,
                pid=os.getpid(), **more)
    os.write(effects, (json.dumps(line) + "\n").encode())


class NonRetryable(worker.Failure):
    pass


@worker.job("work")
def work(input, attempt):
    note("start", attempt, attempt=attempt.attempt, dueAt=attempt.assign["dueAt"])
    ok = False
    mode, said = input["mode"], f"(token {attempt.token})"
    try:
        if mode == "broken":
            raise RuntimeError(f"Broken for ever {said}")
        if mode == "refused":
            raise NonRetryable(f"Refused for good {said}", retryable=False)
        if mode == "flaky" and attempt.attempt == 1:
            raise TypeError(f"Not at the first attempt {said}")
        if mode == "slow":
            attempt.sleep(input["millis"] / 1000)
        ok = True
        return {"pid": os.getpid(), "token": attempt.token}
    except worker.Stopped:
        note("abort", attempt)
        raise
    finally:
        note("end", attempt, ok=ok)


print("started", flush=True)
sys.exit(worker.Worker(url, "", name, int(slots), int(prefetch), int(grace)).serve())
