package config

// Hook holds the settings that the hook publisher reads.
type Hook struct{}
