const fs = require("node:fs");
fs.open("a", "w+", (error, fd) => {
  console.log(error, fd > 2);
  fs.write(fd, "some text", (error, written, text) => {
    console.log(error, written, text);
    fs.read(fd, Buffer.alloc(4), 0, 4, 5, (error, read, buffer) => {
      console.log(error, read, buffer.toString());
      fs.fstat(fd, (error, stats) => {
        console.log(error, stats.size, stats.isFile());
        fs.ftruncate(fd, 4, (error) => {
          console.log(error);
          fs.close(fd, (error) => {
            console.log(error, fs.readFileSync("a", "utf8"));
            fs.close(fd, (error) => console.log(error.message));
            fs.open("none", (error, fd) => console.log(error.message, fd));
          });
        });
      });
    });
  });
});
