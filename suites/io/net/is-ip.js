const net = require("node:net");
for (const text of ["127.0.0.1", "1.2.3", "01.2.3.4", "256.1.1.1", "::1", "::", "fe80::1%eth0", "1::2::3", "::ffff:1.2.3.4", "abcd", "", "1.2.3.4 ",
  "2001:db8::g", "[::1]", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7", null, undefined, 5, {}]) {
  console.log(text, net.isIP(text), net.isIPv4(text), net.isIPv6(text));
}
