// Steps through a game without loading pages. The page's own links do the same where scripts do not run.
"use strict";

for (const viewer of document.querySelectorAll(".viewer[data-game]")) {
  const game = JSON.parse(document.getElementById(viewer.dataset.game).textContent);
  const stones = viewer.querySelector(".stones");
  const output = viewer.querySelector("output");
  const comment = viewer.querySelector(".comment");
  let number = game.number;

  // positions[k]: what stands after k moves, "x,y" -> colour
  const positions = [new Map(game.initial.map(([x, y, colour]) => [`${x},${y}`, colour]))];
  for (const move of game.moves) {
    const next = new Map(positions[positions.length - 1]);
    if (move.point) next.set(move.point.join(","), move.colour);
    for (const point of move.removed) next.delete(point.join(","));
    positions.push(next);
  }

  function circle(x, y, radius, name) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", "circle");
    element.setAttribute("cx", x + game.margin);
    element.setAttribute("cy", y + game.margin);
    element.setAttribute("r", radius);
    element.setAttribute("class", name);
    stones.append(element);
  }

  function show(wanted) {
    number = Math.max(0, Math.min(game.moves.length, wanted));
    stones.replaceChildren();
    for (const [key, colour] of positions[number]) {
      const [x, y] = key.split(",").map(Number);
      circle(x, y, 0.47, colour);
    }
    const move = number > 0 ? game.moves[number - 1] : null;
    if (move && move.point) circle(move.point[0], move.point[1], 0.2, "mark");
    output.textContent = `${number} / ${game.moves.length}`;
    comment.textContent = move ? move.comment : "";
    history.replaceState(null, "", `?move=${number}`);
  }

  const steps = { first: () => 0, previous: () => number - 1, next: () => number + 1, last: () => game.moves.length };
  viewer.addEventListener("click", (event) => {
    const step = event.target.closest("[data-step]");
    if (!step) return;
    event.preventDefault();
    show(steps[step.dataset.step]());
  });
  const keys = { ArrowLeft: "previous", ArrowRight: "next", Home: "first", End: "last" };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
    event.preventDefault();
    show(steps[keys[event.key]]());
  });
}
