throw new SyntaxError();
