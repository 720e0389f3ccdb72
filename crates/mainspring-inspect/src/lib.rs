//! Shows what event loops do: a live page, JSON, and OpenMetrics.
