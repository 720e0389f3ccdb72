throw new Error("");
