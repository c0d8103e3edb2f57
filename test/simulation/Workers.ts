// The workers of a simulation through their lives: a supervisor starts each again under its name after it was killed, ended
// or was sent away. Here is also how they are let in, and what befalls them and their connections.
import * as Effect from "effect/Effect"
import type { Outcome } from "../../core/domain/Outcome.ts"
import type { Assign } from "../../core/protocol/Message.ts"
import type { AttemptKey } from "../../core/protocol/Shapes.ts"
import type { Admission, WorkersConfig } from "../../core/worker/WorkersConfig.ts"
import type { Bug } from "./Bug.ts"
import { crewOf, type Member } from "./Crew.ts"
import type { Act, Attempt } from "./Handlers.ts"
import { type Direction, type End, Line, type LineOptions, type Way } from "./Line.ts"
import type { Seat } from "./Fleet.ts"
import type { Ground } from "./Ground.ts"
import type { Swarm } from "./Swarm.ts"
import type { Watch } from "./Watch.ts"
import type { Weather } from "./Wire.ts"
import { Worker } from "./Worker.ts"
import type { World } from "./World.ts"

/** Hears what happens at workers and on the way to them. */
export interface HearsWorkers {
  /** A frame is sent, as its sender wrote it. */
  readonly frame: (line: Line, direction: Direction, frame: string) => void
  /** A handler is called, and has ended. */
  readonly begins: (worker: Worker, assign: Assign) => void
  readonly ends: (worker: Worker, key: AttemptKey, outcome: Outcome) => void
  /** The worker heard what became of an attempt: in a verdict of the welcome, or as an acknowledgement. */
  readonly acknowledged: (
    worker: Worker,
    key: AttemptKey,
    result: "settled" | "stale",
    isVerdict: boolean,
  ) => void
}

/** What they are told. */
export interface WorkersOptions {
  readonly world: World
  readonly swarm: Swarm
  readonly watch: Watch
  readonly weather: Weather
  readonly bug: Bug
  readonly ground: Ground
  readonly actOf: (run: Attempt) => Act
  readonly seats: () => ReadonlyArray<Seat>
  readonly hears: HearsWorkers
}

/** A worker's place, process after process. */
export interface Post {
  readonly member: Member
  readonly way: Way
  process: Worker | null
  /** The one that its process tries or has, if any. */
  line: Line | null
}

/** All workers. */
export class Workers {
  readonly posts: ReadonlyArray<Post>
  readonly #options: WorkersOptions
  readonly #lineOptions: LineOptions
  readonly #revoked = new Set<string>()
  #processes = 0

  constructor(options: WorkersOptions) {
    const { world, swarm, weather, watch, bug, ground, hears } = options
    this.#options = options
    this.#lineOptions = {
      world,
      swarm,
      weather,
      watch,
      passes: (line, direction, frame) => {
        hears.frame(line, direction, frame)
        return bug.frame?.(frame, direction, line, ground) ?? frame
      },
    }
    this.posts = crewOf(swarm).map((member) => ({
      member,
      way: { hole: null, stalledUntil: 0, latencyMillis: swarm.frameMillis },
      process: null,
      line: null,
    }))
    for (const post of this.posts) this.#start(post)
  }

  /** How nodes let workers in. */
  config(): WorkersConfig {
    const { world, weather, bug } = this.#options
    const check = (token: string | null, worker: string): Admission => {
      const member = this.posts.map((post) => post.member).find(({ who }) => who.worker === worker)
      if (member === undefined || token !== member.credential || this.#revoked.has(token))
        return { kind: "denied", close: "token", reason: "the token is not known" }
      return { kind: "granted", grant: { id: token, queues: member.queues } }
    }
    return {
      ...(bug.terms === undefined ? {} : { terms: bug.terms }),
      admit: ({ token, worker }) => {
        const admission = Effect.sync(() => check(token, worker))
        const millis = weather.isStormy && world.random.chance(0.2) ? world.random.int(1, 400) : 0
        return millis === 0 ? admission : Effect.delay(admission, millis)
      },
    }
  }

  /** A process is gone, and another one takes its name: killed, which its node may hear, or with its machine. */
  crash(): void {
    const { watch, world } = this.#options
    const post = world.random.pick(this.posts)
    if (post.process === null) return
    const isHeard = world.random.chance(0.7)
    watch.counters.workersGone++
    watch.tell(post.member.who.worker, () => `is killed${isHeard ? "" : ", without a word"}`)
    post.line?.cut(isHeard ? "server" : "nobody")
    this.#end(post)
  }

  freeze(): void {
    const { watch, world } = this.#options
    const lane = world.random.pick(this.posts).process?.lane
    if (lane === undefined || lane.isFrozen) return
    const millis = world.random.int(1000, 60_000)
    watch.counters.workersGone++
    watch.tell(lane.name, () => `stands still for ${millis} ms`)
    lane.freeze()
    world.after(world.watchman, millis, () => lane.thaw())
  }

  /** Somebody wants it to end, or its server that it goes elsewhere, or away at once. */
  drain(): void {
    const { watch, world, swarm } = this.#options
    const post = world.random.pick(this.posts)
    const { process, line } = post
    if (process === null) return
    const name = post.member.who.worker
    const whose = world.random.int(0, 2)
    const seat = this.#options.seats().find((each) => each.name === line?.node)
    watch.tell(name, () => ["is told to end", "is drained by its node", "is disconnected"][whose] ?? "")
    watch.counters.workersDrained++
    if (whose === 0)
      process.lane.add(() =>
        process.step({ kind: "drain", graceMillis: swarm.graceMillis, reason: "it is told to end" }),
      )
    else if (whose === 1) seat?.lane.add(() => seat.desk?.drain(name, swarm.graceMillis, "go elsewhere"))
    else seat?.lane.add(() => seat.desk?.disconnect(name, "go away"))
  }

  /** A credential is revoked, and after a while granted anew. */
  revoke(): void {
    const { watch, world, seats } = this.#options
    const id = `c${world.random.int(0, 2)}`
    watch.tell("world", () => `revokes ${id}`)
    this.#revoked.add(id)
    const valid = new Set(["c0", "c1", "c2"].filter((each) => !this.#revoked.has(each)))
    for (const { desk, lane } of seats()) lane.add(() => desk?.keepOnly(valid))
    world.after(world.watchman, world.random.int(500, 10_000), () => this.#revoked.delete(id))
  }

  /** Something befalls the way of a worker for a while. */
  disturb(): void {
    const { watch, world, swarm } = this.#options
    const { random } = world
    const { way, member } = random.pick(this.posts)
    const millis = random.int(500, 30_000)
    const what = random.pick(["up", "down", "both", "stall", "slow"] as const)
    watch.counters.holes++
    watch.tell(member.who.worker, () => `has a bad connection for ${millis} ms: ${what}`)
    if (what === "stall") {
      way.stalledUntil = world.elapsed + millis
      return
    }
    if (what === "slow") way.latencyMillis = swarm.slowFrameMillis
    else way.hole = what
    world.after(world.watchman, millis, () => this.#mend(way))
  }

  cutLine(): void {
    const { watch, world } = this.#options
    const { line, member } = world.random.pick(this.posts)
    if (line === null || line.isCut) return
    const seenBy = world.random.pick(["both", "both", "server", "worker"] as const)
    watch.counters.lineCuts++
    watch.tell(member.who.worker, () => `has its connection to ${line.node} cut, seen by ${seenBy}`)
    line.cut(seenBy)
  }

  /** Nothing is in the way any more. */
  heal(): void {
    this.#revoked.clear()
    for (const { way, process } of this.posts) {
      this.#mend(way)
      way.stalledUntil = 0
      if (process?.lane.isFrozen === true) process.lane.thaw()
    }
  }

  #mend(way: Way): void {
    way.hole = null
    way.latencyMillis = this.#options.swarm.frameMillis
  }

  #start(post: Post): void {
    const { world, watch, swarm, bug, hears, actOf } = this.#options
    const { member } = post
    const lane = world.lane(member.who.worker)
    lane.skew = swarm.skewMillis === 0 ? 0 : world.random.int(-swarm.skewMillis, swarm.skewMillis)
    const incarnation = `p${++this.#processes}`
    watch.tell(lane.name, () => `starts as ${incarnation}`)
    const step = bug.worker?.()
    lane.add(() => {
      post.process = new Worker({
        world,
        lane,
        member,
        incarnation,
        seed: swarm.seed,
        actOf,
        connect: () => this.#connect(post, lane),
        hears: {
          ...hears,
          over: (_process, code, reason) => {
            watch.tell(lane.name, () => `is over with ${code}: ${reason}`)
            // A farewell that it has said is on its way.
            if (post.line?.client.phase === "open") post.line.cut("server")
            this.#end(post, lane)
          },
        },
        ...(step === undefined ? {} : { step }),
      })
    })
  }

  #end(post: Post, lane = post.process?.lane): void {
    const { world } = this.#options
    lane?.kill()
    post.process = null
    post.line = null
    world.after(world.watchman, world.random.int(100, 8000), () => this.#start(post))
  }

  #connect(post: Post, lane: Worker["lane"]): End {
    const { world, seats } = this.#options
    const seat = world.random.pick(seats())
    const line = new Line(this.#lineOptions, post.way, lane, seat.lane)
    post.line = line
    const { credential } = post.member
    // Refused, as nobody listens: the caller hears it, on a lane that is not the dead one's.
    const failed = (): void => line.cut("worker")
    if (seat.desk === null || seat.lane.isDead) lane.after(1, failed)
    else
      seat.lane.after(1, () => {
        if (seat.desk === null || line.client.phase !== "open") return failed()
        const headers = new Map([["authorization", `Bearer ${credential}`]])
        seat.lines.add(line)
        line.server.post({ kind: "open" })
        line.server.listeners = seat.desk.onConnection(line.incoming(headers))
      })
    return line.client
  }
}
