// A client of `ioopt serve --http` in JavaScript, without packages.
// Run it as: node client.mjs http://127.0.0.1:8080 TOKEN
const [address, token] = process.argv.slice(2);

async function ask(message) {
  const response = await fetch(`${address}/v1/messages`, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}` },
    body: JSON.stringify({ ioopt: 1, ...message }),
  });
  const reply = await response.json();
  if (!reply.ok) throw new Error(JSON.stringify(reply.error));
  return reply.result;
}

let { session } = await ask({
  op: "open",
  object: "WorkflowDispatcher",
  arguments: {
    network: { remote_bytes_per_second: 12.5e6, replica_bytes_per_second: 1e9 },
    nodes: [{ id: "n0", cores: 2 }, { id: "n1", cores: 2 }],
    files: [{ id: "in", bytes: 64e6 }, { id: "out", bytes: 9e6 }],
    policy: "rolling",
  },
});
const notes = []; // what went wrong or was ignored, from all calls

async function call(method, parameters) {
  const result = await ask({ op: "call", session, method, arguments: parameters });
  notes.push(...(result.notes ?? []));
  return result.value;
}

await call("submit", {
  tasks: [
    { id: "make", compute_seconds: 5, inputs: ["in"], outputs: ["out"] },
    { id: "use", compute_seconds: 5, inputs: ["out"] },
  ],
});
let now = 0; // your clock, in seconds
for (let left = 2; left > 0; now += 6) {
  for (const placed of await call("next", { now, deadline: 1 })) {
    const { task, node, stage, arriving, attempt } = placed;
    // Start the task once all its inputs are on the node; `arriving` has files to wait for.
    const waits = stage.map(([file, source]) => `copy ${file} from ${source ?? "storage"}`);
    waits.push(...arriving.map((file) => `wait for ${file}`));
    console.log(`${now} s: ${task} on ${node}: ${waits.join(", ") || "start now"}`);
    // With node and attempt, a message that is repeated or late changes nothing.
    await call("completed", { task, now: now + 6, node, attempt });
    left -= 1;
  }
  // Save, and go on as after a restart of the service: the same decisions follow.
  const { state } = await ask({ op: "save", session });
  await ask({ op: "close", session });
  ({ session } = await ask({ op: "open", object: "WorkflowDispatcher", state }));
}
await ask({ op: "close", session });
for (const note of notes) console.log(`note: ${note}`);
