// The search, the language that a reader has chosen, and buttons that copy. Pages can be read without it.
"use strict";
(() => {
  const root = document.currentScript.dataset.root;
  const form = document.querySelector(".search");
  const query = document.getElementById("query");
  const results = document.getElementById("results");
  const most = 40;
  let members = null;
  let selected = -1;

  // Names are compared without case and marks, so that `kms_key_id` finds `kmsKeyId`.
  const plain = (text) => text.toLowerCase().replace(/[^a-z0-9 ]/g, "");

  const load = () => {
    if (members) return;
    members = [];
    const script = document.createElement("script");
    script.src = root + "search.js";
    script.onload = () => {
      const { kinds, members: all } = globalThis.isthmusReference;
      members = all.map(([kind, name, terraform, path, properties]) => ({
        kind: kinds[kind], name, terraform, path,
        names: [plain(name), plain(terraform)],
        properties: properties ? properties.split(" ") : [],
        plainProperties: plain(properties).split(" "),
      }));
      if (query.value) show();
    };
    document.head.append(script);
  };

  // How well a member fits, smaller is better; 0 if not at all. All words have to be found.
  const fit = (member, words) => {
    let sum = 0;
    let property = -1;
    for (const word of words) {
      let best = 0;
      for (const name of member.names) {
        const at = name.indexOf(word);
        if (at < 0) continue;
        const score = name === word ? 1 : at === 0 || name.endsWith(word) ? 2 + name.length / 1000 : 4 + name.length / 1000;
        if (!best || score < best) best = score;
      }
      if (!best) {
        const at = member.plainProperties.findIndex((name) => name.startsWith(word));
        if (at < 0) return null;
        if (member.properties[at]) property = at;
        best = member.plainProperties[at] === word ? 6 : 8;
      }
      sum += best;
    }
    return { sum, property };
  };

  const find = (text) => {
    const words = text.split(/\s+/).map(plain).filter((word) => word);
    if (!words.length) return [];
    const found = [];
    for (const member of members) {
      const how = fit(member, words);
      if (how) found.push({ member, ...how });
    }
    return found.sort((one, other) => one.sum - other.sum || one.member.names[0].length - other.member.names[0].length);
  };

  const select = (index) => {
    const options = results.querySelectorAll("[role=option]");
    selected = options.length ? (index + options.length) % options.length : -1;
    options.forEach((option, number) => option.setAttribute("aria-selected", String(number === selected)));
    const option = options[selected];
    if (option) {
      query.setAttribute("aria-activedescendant", option.id);
      option.scrollIntoView({ block: "nearest" });
    } else {
      query.removeAttribute("aria-activedescendant");
    }
  };

  const close = () => {
    results.hidden = true;
    query.setAttribute("aria-expanded", "false");
    query.removeAttribute("aria-activedescendant");
    selected = -1;
  };

  const span = (text) => {
    const part = document.createElement("span");
    part.textContent = text;
    return part;
  };

  const show = () => {
    const begin = performance.now();
    if (!query.value.trim()) return close();
    const found = members ? find(query.value) : [];
    const items = found.slice(0, most).map(({ member, property }, number) => {
      const item = document.createElement("li");
      item.id = "result-" + number;
      item.setAttribute("role", "option");
      item.dataset.path = member.path;
      item.append(member.name, span(member.kind), span(member.terraform));
      if (property >= 0) item.append(span("with " + member.properties[property]));
      return item;
    });
    if (!items.length) {
      const none = document.createElement("li");
      none.className = "none";
      none.setAttribute("role", "option");
      none.setAttribute("aria-disabled", "true");
      none.textContent = "Nothing found";
      items.push(none);
    }
    results.replaceChildren(...items);
    results.hidden = false;
    query.setAttribute("aria-expanded", "true");
    select(0);
    // For whoever measures it.
    results.dataset.milliseconds = String(performance.now() - begin);
    results.dataset.query = query.value;
  };

  const open = (item) => {
    if (item && item.dataset.path) location.href = root + item.dataset.path;
  };

  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  query.addEventListener("focus", load);
  query.addEventListener("input", () => { load(); show(); });
  query.addEventListener("keydown", (event) => {
    switch (event.key) {
      case "ArrowDown": select(selected + 1); break;
      case "ArrowUp": select(selected - 1); break;
      case "Enter": open(results.querySelector("[aria-selected=true]")); break;
      case "Escape": close(); break;
      default: return;
    }
    event.preventDefault();
  });
  query.addEventListener("blur", () => setTimeout(close, 150));
  results.addEventListener("mousedown", (event) => event.preventDefault());
  results.addEventListener("click", (event) => open(event.target.closest("li")));
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.ctrlKey && !event.metaKey && document.activeElement !== query) {
      event.preventDefault();
      query.focus();
    }
  });

  const remember = (language) => {
    try { localStorage.setItem("language", language); } catch { /* it is for this page only then */ }
  };
  let language = null;
  try { language = localStorage.getItem("language"); } catch { /* nothing is remembered */ }
  for (const choice of document.querySelectorAll("input[name=language]")) {
    if (choice.value === language) choice.checked = true;
    choice.addEventListener("change", () => remember(choice.value));
  }

  if (navigator.clipboard) {
    for (const block of document.querySelectorAll(".code")) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.textContent = "Copy";
      button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(block.querySelector("code").textContent);
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy"; }, 1500);
      });
      block.append(button);
    }
  }
})();
