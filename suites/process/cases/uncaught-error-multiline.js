throw new Error("first\nsecond");
