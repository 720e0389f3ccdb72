setTimeout("not a function");
