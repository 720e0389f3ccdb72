setTimeout(() => {
  setTimeout(() => console.log("timeout"), 5).unref().ref();
  setImmediate(() => console.log("immediate")).unref().ref();
}, 1);
