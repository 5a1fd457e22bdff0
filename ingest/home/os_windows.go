package home

import "os"

// hasModes: access is by ACL here, inherited from the user's profile.
const hasModes = false

// tempDir is the user's own on Windows.
var tempDir = os.TempDir()

func ownedByUs(os.FileInfo) bool { return true }
