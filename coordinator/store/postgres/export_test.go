package postgres

// Statements are the queries of the hot paths.
var Statements = map[string]string{
	"pendingTrials": pendingTrials, "markQueued": markQueued, "unheard": unheard, "reusable": reusable,
	"activeTrials": activeTrials, "loadTrials": loadTrials,
}
