// The jobs that a worker offers while it is tested. apps/worker-test/README.md says the same for people.

/** By name; a worker has a handler for each. */
export const jobs = ["kit.echo", "kit.fail", "kit.sleep", "kit.deaf", "kit.log", "kit.repeat"] as const
