setTimeout(() => {
  throw undefined;
}, 1);
