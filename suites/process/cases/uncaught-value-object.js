throw { a: 1, toString: () => "not used" };
