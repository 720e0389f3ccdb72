class Special extends TypeError {}
throw new Special("special");
