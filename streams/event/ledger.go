package event

// Usage is what a model's reply cost in tokens, as its provider counted. Input does
// not contain what was read from or written to the provider's cache.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
}
