{
	{
		throw new Error("tabs");
	}
}
