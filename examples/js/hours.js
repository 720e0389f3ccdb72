// A day in a moment: cargo run --release -- run --virtual-time examples/js/hours.js
const begin = Date.now();
let hours = 0;
const clock = setInterval(() => {
  hours += 1;
  if (hours % 6 === 0) console.log(`${hours} hours later: ${(Date.now() - begin) / 3_600_000}`);
  if (hours === 24) clearInterval(clock);
}, 3_600_000);
