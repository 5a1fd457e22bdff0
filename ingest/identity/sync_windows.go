package identity

// syncDir: a folder cannot be synced here; NTFS journals names.
func syncDir(string) error { return nil }
