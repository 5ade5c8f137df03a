// Package archive has the names of the data sets of the UCR archive, and the SQL of the papers' views, which need them.
package archive

import (
	_ "embed" // views.sql
	"slices"
	"strings"
)

// names are the data sets of the UCR archive of 2018, and what the archive of 2015
// called some of them.
const names = `
	ACSF1 Adiac AllGestureWiimoteX AllGestureWiimoteY AllGestureWiimoteZ ArrowHead BME Beef BeetleFly BirdChicken
	CBF Car Chinatown ChlorineConcentration CinCECGTorso Coffee Computers CricketX CricketY CricketZ Crop
	DiatomSizeReduction DistalPhalanxOutlineAgeGroup DistalPhalanxOutlineCorrect DistalPhalanxTW DodgerLoopDay
	DodgerLoopGame DodgerLoopWeekend ECG200 ECG5000 ECGFiveDays EOGHorizontalSignal EOGVerticalSignal Earthquakes
	ElectricDevices EthanolLevel FaceAll FaceFour FacesUCR FiftyWords Fish FordA FordB FreezerRegularTrain
	FreezerSmallTrain Fungi GestureMidAirD1 GestureMidAirD2 GestureMidAirD3 GesturePebbleZ1 GesturePebbleZ2
	GunPoint GunPointAgeSpan GunPointMaleVersusFemale GunPointOldVersusYoung Ham HandOutlines Haptics Herring
	HouseTwenty InlineSkate InsectEPGRegularTrain InsectEPGSmallTrain InsectWingbeatSound ItalyPowerDemand
	LargeKitchenAppliances Lightning2 Lightning7 Mallat Meat MedicalImages MelbournePedestrian
	MiddlePhalanxOutlineAgeGroup MiddlePhalanxOutlineCorrect MiddlePhalanxTW MixedShapesRegularTrain
	MixedShapesSmallTrain MoteStrain NonInvasiveFetalECGThorax1 NonInvasiveFetalECGThorax2 OSULeaf OliveOil PLAID
	PhalangesOutlinesCorrect Phoneme PickupGestureWiimoteZ PigAirwayPressure PigArtPressure PigCVP Plane PowerCons
	ProximalPhalanxOutlineAgeGroup ProximalPhalanxOutlineCorrect ProximalPhalanxTW RefrigerationDevices Rock
	ScreenType SemgHandGenderCh2 SemgHandMovementCh2 SemgHandSubjectCh2 ShakeGestureWiimoteZ ShapeletSim ShapesAll
	SmallKitchenAppliances SmoothSubspace SonyAIBORobotSurface1 SonyAIBORobotSurface2 StarLightCurves Strawberry
	SwedishLeaf Symbols SyntheticControl ToeSegmentation1 ToeSegmentation2 Trace TwoLeadECG TwoPatterns UMD
	UWaveGestureLibraryAll UWaveGestureLibraryX UWaveGestureLibraryY UWaveGestureLibraryZ Wafer Wine WordSynonyms
	Worms WormsTwoClass Yoga
`

const olderNames = `
	50words Lighting2 Lighting7 SonyAIBORobotSurface SonyAIBORobotSurfaceII NonInvasiveFatalECG_Thorax1
	NonInvasiveFatalECG_Thorax2 WordsSynonyms MixedShapes
`

// keys are the keys of their names, in order.
var keys = func() (keys []string) {
	for _, name := range slices.Concat(strings.Fields(names), strings.Fields(olderNames), []string{GeneratedCBF}) {
		keys = append(keys, Key(name))
	}
	slices.Sort(keys)
	return keys
}()

//go:embed views.sql
var views string

// Views returns the statements that create the views of the papers' tables, as they are in migrations/views.sql.
func Views() string {
	return strings.Replace(views, "ARCHIVE_KEYS", "'"+strings.Join(keys, "', '")+"'", 1)
}

// Has reports whether a data set is of the UCR archive.
func Has(set string) bool {
	_, found := slices.BinarySearch(keys, Key(set))
	return found
}

// GeneratedCBF is the generated set; its published figures are those of CBF,
// which the same generator made.
const GeneratedCBF = "generated-cbf"

// Key makes spellings of one name equal.
func Key(name string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '_' || r == '-' {
			return -1
		}
		return r
	}, strings.ToLower(name))
}
