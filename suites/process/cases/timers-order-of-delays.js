setTimeout(() => console.log("1"), 1);
setTimeout(() => console.log("0"), 0);
setTimeout(() => console.log("none"));
setTimeout(() => console.log("1.9"), 1.9);
setTimeout(() => console.log("text"), "1");
setTimeout(() => console.log("null"), null);
setTimeout(() => console.log("object"), { valueOf: () => 1 });
