class FancyError extends Error {
  get name() {
    return "Fancy";
  }
}
throw new FancyError("named");
