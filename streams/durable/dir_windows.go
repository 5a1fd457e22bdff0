package durable

// syncDir: NTFS journals names and gives no way to flush a folder.
func syncDir(string) error { return nil }
