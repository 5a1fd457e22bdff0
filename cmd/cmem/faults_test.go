package main

import "testing"

func TestFaults(t *testing.T) {
	t.Run("lost-01", workerKilledBetweenPublishes)
	t.Run("dup-08", savedTwice)
	t.Run("proj-06", everyParameterCounts)
	t.Run("proj-05", aSessionIsMovedForGood)
	t.Run("time-01", eveningWorkIsFoundUnderItsDay)
	t.Run("cobra-01", mistakesAreOneLine)
	t.Run("fs-09", oneWatcherInTheWorkerAlone)
	t.Run("priv-01", privateTextIsInNoFile)
	t.Run("search-08", brokenSyntaxIsWords)
	t.Run("tr-20", transcriptsMayGo)
	t.Run("port-01", mutePortIsPassedBy)
	t.Run("port-04", secondWorkerSaysSo)
	t.Run("multi-01", otherUsersAreRefused)
	t.Run("multi-04", noProxyIsAsked)
	t.Run("bbolt-01", commandsNeverWaitOnALock)
	t.Run("port-03", oneAnswerToWhoServes)
	t.Run("bleve-03", fewOpenFilesAreEnough)
	t.Run("bleve-07", littleMemoryIsEnough)
	t.Run("grow-02", nothingIsKeptForWhatIsOff)
}
