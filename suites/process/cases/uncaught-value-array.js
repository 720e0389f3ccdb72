throw [1, "two", [3]];
