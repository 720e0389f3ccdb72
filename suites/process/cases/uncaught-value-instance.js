throw new (class Thing {
  message = "not an error";
})();
