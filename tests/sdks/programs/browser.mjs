// Looks at pages in headless Chromium as readers do, and prints what it has seen as JSON.
//
//   node browser.mjs PLAN
//
// PLAN is a JSON file: { axe: path of axe-core, profile: directory for the browser, pages: [{ url, everywhere?: boolean,
// screenshots?: path without ".png", query?: text, opens?: number }] }. Each page is opened `opens` times, is checked by axe-core on a
// desktop (`everywhere`: and on a phone, dark and light), and is searched for `query`. The browser is spoken to over a pipe, so that nothing but Node.js is needed for it.
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const plan = JSON.parse(readFileSync(process.argv[2], "utf8"));
const axe = readFileSync(plan.axe, "utf8");

const browser = spawn("chromium", [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
  `--user-data-dir=${plan.profile}`, "about:blank",
], { stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"] });
let said = "";
browser.stderr.on("data", (data) => { said += data; });
browser.on("exit", (code) => { if (code) { console.error(said); process.exit(1); } });

let next = 0;
const waiting = new Map();
const listeners = new Set();
let unread = "";
browser.stdio[4].setEncoding("utf8").on("data", (data) => {
  const messages = (unread + data).split("\0");
  unread = messages.pop();
  for (const message of messages.map((text) => JSON.parse(text))) {
    const { resolve, reject } = waiting.get(message.id) ?? {};
    waiting.delete(message.id);
    if (message.error) reject?.(new Error(JSON.stringify(message.error)));
    else if (resolve) resolve(message.result);
    else listeners.forEach((listen) => listen(message));
  }
});
const send = (method, params = {}, sessionId = undefined) => new Promise((resolve, reject) => {
  const id = ++next;
  waiting.set(id, { resolve, reject });
  browser.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
});

const { targetId } = await send("Target.createTarget", { url: "about:blank" });
const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
const call = (method, params) => send(method, params, sessionId);
const event = (name) => new Promise((resolve) => {
  const listen = (message) => {
    if (message.method !== name) return;
    listeners.delete(listen);
    resolve(message.params);
  };
  listeners.add(listen);
});

// Errors, refused by the policy of the page, or of its scripts.
const complaints = [];
const requests = new Set();
listeners.add(({ method, params }) => {
  if (method === "Log.entryAdded" && params.entry.level === "error") complaints.push(params.entry.text);
  if (method === "Runtime.exceptionThrown") complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
  if (method === "Network.requestWillBeSent") requests.add(params.request.url);
});
for (const domain of ["Page", "Runtime", "Log", "Network", "Profiler"]) await call(`${domain}.enable`);
await call("Profiler.startPreciseCoverage", { callCount: true, detailed: true });

// Blocks of the page's scripts that were executed since the last call: the same on every machine, which milliseconds are not.
const executed = async () => {
  const { result } = await call("Profiler.takePreciseCoverage");
  return result
    .filter(({ url }) => url)
    .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges.map(({ count }) => count)))
    .reduce((sum, count) => sum + count, 0);
};

const evaluate = async (expression) => {
  const { result, exceptionDetails } = await call("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.value;
};
const open = async (url) => {
  const loaded = event("Page.loadEventFired");
  await call("Page.navigate", { url });
  await loaded;
  // The end of the load event itself.
  return evaluate(`new Promise((resolve) => {
    const look = () => {
      const [navigation] = performance.getEntriesByType("navigation");
      navigation.loadEventEnd ? resolve(navigation.loadEventEnd) : setTimeout(look, 1);
    };
    look();
  })`);
};

const median = (numbers) => numbers.sort((one, other) => one - other)[Math.floor(numbers.length / 2)];
const devices = { phone: { width: 390, height: 844, deviceScaleFactor: 2, mobile: true }, desktop: { width: 1280, height: 900, deviceScaleFactor: 1, mobile: false } };

const seen = [];
for (const { url, everywhere = false, screenshots, query, opens = 1 } of plan.pages) {
  const page = { url, violations: [] };
  const milliseconds = [];
  for (let time = 0; time < opens; time += 1) {
    await executed();
    milliseconds.push(await open(url));
  }
  page.opened = median(milliseconds);
  page.executed = await executed();
  page.elements = await evaluate("document.querySelectorAll('*').length");
  page.bytes = await evaluate(`[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
    .reduce((sum, { transferSize }) => sum + transferSize, 0)`);
  for (const [device, metrics] of Object.entries(devices)) {
    if (!everywhere && device === "phone") continue;
    await call("Emulation.setDeviceMetricsOverride", metrics);
    for (const scheme of everywhere ? ["light", "dark"] : ["light"]) {
      await call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
      if (everywhere) await open(url);
      await evaluate(axe);
      const found = await evaluate(`(async () => {
        for (const details of document.querySelectorAll("details")) details.open = true;
        const { violations } = await axe.run(document, { resultTypes: ["violations"], preload: false });
        for (const details of document.querySelectorAll("details")) details.open = false;
        return violations.flatMap(({ id, nodes }) => nodes.map((node) => id + ": " + node.html + " " + node.failureSummary));
      })()`);
      page.violations.push(...found.map((text) => `${device}, ${scheme}: ${text}`));
      // On a desktop, which is the last device.
      page.columns = await evaluate("new Set([...(document.querySelector('.members')?.children ?? [])].map((item) => item.offsetLeft)).size");
      page.overflows ||= await evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth");
      if (screenshots) {
        const { data } = await call("Page.captureScreenshot", { format: "png" });
        writeFileSync(`${screenshots}-${device}-${scheme}.png`, Buffer.from(data, "base64"));
      }
    }
  }
  if (query) {
    // Letter by letter, as it is typed; once more after the names were loaded.
    await evaluate("document.getElementById('query').focus()");
    await evaluate("new Promise((resolve) => { const look = () => globalThis.isthmusReference ? resolve() : setTimeout(look, 5); look(); })");
    const answers = [];
    const steps = [];
    for (const letter of query) {
      await executed();
      await call("Input.insertText", { text: letter });
      answers.push(await evaluate("Number(document.getElementById('results').dataset.milliseconds)"));
      steps.push(await executed());
    }
    page.answered = Math.max(...answers);
    page.searched = Math.max(...steps);
    page.found = await evaluate("[...document.querySelectorAll('#results li')].map((item) => item.firstChild.textContent + ' ' + (item.dataset.path ?? ''))");
    await evaluate(axe);
    const found = await evaluate("axe.run(document, { resultTypes: ['violations'], preload: false }).then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map((node) => 'search: ' + id + ': ' + node.html)))");
    page.violations.push(...found);
    if (screenshots) {
      const { data } = await call("Page.captureScreenshot", { format: "png" });
      writeFileSync(`${screenshots}-search.png`, Buffer.from(data, "base64"));
    }
    const loaded = event("Page.loadEventFired");
    await call("Input.dispatchKeyEvent", { type: "keyDown", key: "Enter", code: "Enter", windowsVirtualKeyCode: 13 });
    await loaded;
    page.led = await evaluate("location.pathname");
  }
  seen.push(page);
}
process.stdout.write(JSON.stringify({ pages: seen, complaints, requests: [...requests] }));
// It may end before it has answered, and however it likes.
browser.removeAllListeners("exit");
browser.on("exit", () => process.exit(0));
send("Browser.close").catch(() => {});
