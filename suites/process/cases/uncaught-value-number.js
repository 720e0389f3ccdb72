throw 5;
