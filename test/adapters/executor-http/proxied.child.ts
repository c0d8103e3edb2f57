// Makes one request in an environment that names a proxy; says what came of it.
import { open } from "./servers.ts"

const origin = `http://nowhere.example:${process.argv[2]}`
const here = () => Promise.resolve([{ address: "127.0.0.1", family: 4 }])
const { request, start } = open({ origins: [origin] }, here)
console.log(JSON.stringify(await start(request(origin, { output: "json" })).outcome))
