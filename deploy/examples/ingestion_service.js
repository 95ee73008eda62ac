#!/usr/bin/node
"use strict";

// The receiver of ingestion_service.py for Node: the same routes, answers and options.
//
//     export KAFKA_BOOTSTRAP=broker-1:9092 DATABASE_URL=postgresql://app-server@db/entitlements
//     ./ingestion_service.js --port 8080
//
// Needs Debian's nodejs, node-pg and kcat. Debian has no Kafka client for Node, so a kcat of its own
// publishes each body, and its exit code is the brokers' acknowledgement: about 15 ms of a process for
// each. The command line shows the user's ID to those who may list processes. With a client of npm,
// publish() becomes its send with acks of all and an idempotent producer, and readOutcomes() its
// consumer; all else stays as it is.

const { spawn } = require("node:child_process");
const { randomUUID } = require("node:crypto");
const http = require("node:http");
const { createInterface } = require("node:readline");
const { parseArgs } = require("node:util");
const { Pool } = require("pg");

const BODY_BYTES_MAX = 1 << 20;
const PUBLISHING_MAX = 64; // processes at once
const PRODUCER = [
  "acks=all", "enable.idempotence=true", `message.max.bytes=${2 * BODY_BYTES_MAX}`,
  "message.timeout.ms=5000",
].flatMap((property) => ["-X", property]);
const ENTITLEMENTS = `
  SELECT entitlement_key AS key, CASE WHEN count(*) = count(active_until)
      THEN (extract(epoch FROM max(active_until)) * 1000)::float8 END AS "activeUntil"
  FROM active_entitlements_in($1) WHERE user_id = $2 GROUP BY 1 ORDER BY 1`;

const { values: options } = parseArgs({
  options: {
    port: { type: "string", default: "8080" },
    prefix: { type: "string", default: "storekit." },
    environment: { type: "string", default: "Production" },
    wait: { type: "string", default: "10" },
  },
});
const broker = ["-b", process.env.KAFKA_BOOTSTRAP];
const database = new Pool({
  connectionString: process.env.DATABASE_URL, max: 8, connectionTimeoutMillis: 5000,
});
database.on("error", () => {}); // of an idle connection: the next query opens another
const waiting = new Map(); // by correlation ID: what to do with an outcome
let publishing = 0;

/// Resolves once the brokers have acknowledged the body, and rejects else.
function publish(body, headers) {
  if (publishing === PUBLISHING_MAX) return Promise.reject(new Error("too many at once"));
  publishing += 1;
  return new Promise((resolve, reject) => {
    const fields = Object.entries(headers).flatMap(([name, value]) => ["-H", `${name}=${value}`]);
    // The delimiter is no part of any body, so that the body is one message.
    const kcat = spawn(
      "kcat", ["-P", "-q", ...broker, "-t", `${options.prefix}raw`, "-D", randomUUID(), ...PRODUCER, ...fields],
      { stdio: ["pipe", "ignore", "ignore"], timeout: 10_000, killSignal: "SIGKILL" });
    kcat.on("error", reject);
    kcat.stdin.on("error", () => {}); // the exit code tells
    kcat.on("close", (code) => (code === 0 ? resolve() : reject(new Error("not acknowledged"))));
    kcat.stdin.end(body);
  }).finally(() => { publishing -= 1; });
}

/// Reads the outcomes from where the topic ends now; resolves once every partition is at its end.
function readOutcomes(partitionCount) {
  const kcat = spawn(
    "setpriv", // kcat ends with this process, however that ends
    ["--pdeathsig", "KILL", "kcat", "-C", "-E", "-u", "-o", "end", ...broker, "-t", `${options.prefix}outcomes`,
      "-f", "%k\\t%s\\n"],
    { stdio: ["ignore", "pipe", "pipe"] });
  kcat.on("close", () => process.exit(1)); // who supervises this service starts it again
  createInterface({ input: kcat.stdout }).on("line", (line) => {
    const end = line.indexOf("\t");
    waiting.get(line.slice(0, end))?.(JSON.parse(line.slice(end + 1)));
  });
  return new Promise((resolve) => {
    const ended = new Set();
    createInterface({ input: kcat.stderr }).on("line", (line) => {
      const partition = /Reached end of topic .* \[(\d+)\]/.exec(line)?.[1];
      if (partition && ended.add(partition).size === partitionCount) resolve();
    });
  });
}

/// The number of partitions of the topic of outcomes.
function partitionCount() {
  return new Promise((resolve, reject) => {
    const kcat = spawn("kcat", ["-L", "-J", ...broker, "-t", `${options.prefix}outcomes`]);
    let text = "";
    kcat.stdout.on("data", (part) => { text += part; });
    kcat.on("error", reject);
    kcat.on("close", () => {
      try { resolve(JSON.parse(text).topics[0].partitions.length); } catch (error) { reject(error); }
    });
  });
}

/// Publishes a body and returns its outcomes; null where the time is over before all came.
async function settle(body, user) {
  const id = randomUUID();
  const outcomes = new Map(); // by index, as one may come twice
  try {
    const settled = new Promise((resolve) => {
      waiting.set(id, (outcome) => {
        outcomes.set(outcome.index, outcome);
        if (outcomes.size === outcome.count) resolve([...outcomes.values()]);
      });
    });
    await publish(body, { "correlation-id": id, "user-id": user });
    let timer;
    const late = new Promise((resolve) => { timer = setTimeout(resolve, 1000 * options.wait, null); });
    return await Promise.race([settled, late]).finally(() => clearTimeout(timer));
  } finally {
    waiting.delete(id);
  }
}

/// Whether the purchase of an outcome belongs to nobody yet: so also for its `duplicate`.
function isUnowned(outcome) {
  return outcome.status === "unlinked"
    || (["applied", "duplicate", "superseded"].includes(outcome.status)
      && "originalTransactionID" in outcome && outcome.userID === null);
}

async function entitlements(user) {
  return (await database.query(ENTITLEMENTS, [options.environment, user])).rows;
}

async function answerForTransaction(body, user) {
  const outcomes = await settle(body, user);
  if (outcomes === null) return [202, { status: "pending" }];
  const refused = outcomes.find((outcome) => outcome.status === "dead_lettered");
  if (refused) return [422, { status: "refused", reason: refused.reason }];
  if (outcomes.some(isUnowned)) return [202, { status: "pending" }];
  const belongsToAnother = outcomes.some((outcome) => ![user, null].includes(outcome.userID));
  return [200, { status: "settled", belongsToAnother, entitlements: await entitlements(user) }];
}

const routes = {
  "/apple": {
    method: "POST",
    types: ["application/json"],
    run: async (body) => {
      await publish(body, { "client-id": "apple" });
      return [200, {}];
    },
  },
  "/transactions": {
    method: "POST", needsUser: true, types: ["application/json", "application/jose"], run: answerForTransaction,
  },
  "/entitlements": {
    method: "GET", needsUser: true, run: async (_, user) => [200, { entitlements: await entitlements(user) }],
  },
};

/// The user that the proxy names; header fields arrive as if they were Latin-1.
function sessionUser(request) {
  return Buffer.from(request.headers["x-session-user"] ?? "", "latin1").toString("utf8");
}

/// The status with which a request is refused before its body is read; null if it is not.
function refusal(request, route) {
  if (!route) return 404;
  if (request.method !== route.method) return 405;
  if (route.needsUser && !sessionUser(request)) return 401;
  if (!route.types) return null;
  const type = (request.headers["content-type"] ?? "").split(";")[0].trim().toLowerCase();
  if (!route.types.includes(type)) return 415;
  const length = request.headers["content-length"];
  if (length === undefined) return 411;
  return length > 0 && length <= BODY_BYTES_MAX ? null : 413;
}

async function answer(request, response) {
  const route = Object.hasOwn(routes, request.url) ? routes[request.url] : undefined;
  let [status, value] = [refusal(request, route), {}];
  if (status === null) {
    const parts = [];
    for await (const part of request) parts.push(part); // throws if the client has gone
    try {
      [status, value] = await route.run(Buffer.concat(parts), sessionUser(request));
    } catch {
      status = 503;
    }
  }
  const text = JSON.stringify(value);
  response.writeHead(status, {
    "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text), Connection: "close",
  });
  response.end(text);
}

const server = http.createServer((request, response) => answer(request, response).catch(() => response.destroy()));
server.requestTimeout = 30_000;
partitionCount().then(readOutcomes).then(() => {
  server.listen(Number(options.port), "127.0.0.1", () => console.log(`listening on ${server.address().port}`));
});
