-- How many others are exactly as good as the best trial, and as the best grid point, of a group. Of those that tie the one
-- with the smallest point_key leads, and of its trials the one with the smallest seed: the order of a file does not show.
ALTER TABLE contests ADD COLUMN best_ties bigint NOT NULL DEFAULT 0;
ALTER TABLE contests ADD COLUMN lead_ties bigint NOT NULL DEFAULT 0;

-- What was entered before is entered again: see store/fill.go.
DELETE FROM scores;
DELETE FROM points;
DELETE FROM contests;
DELETE FROM unscored;
INSERT INTO unscored (sweep_no, next_index) SELECT sweep_no, 0 FROM sweeps WHERE deleted_at IS NULL;

DROP VIEW ucr_table;
DROP VIEW mnist_table;
DROP VIEW accuracy_table;
DROP VIEW best_trials;

-- Per sweep and group: the best of the completed trials that did not diverge, by the sweep's select, and how many others
-- are exactly as good.
CREATE VIEW best_trials AS
SELECT
    s.sweep_id, s.name AS sweep_name, t.dataset, t.model, t.trial_index, c.validation_loss, c.validation_accuracy,
    1 - c.validation_accuracy AS validation_error, c.test_accuracy, c.train_loss, o.best_epoch, o.parameter_count,
    t.seed, t.lr, t.decay, t.batch, o.seconds, o.kernel_level, o.weights_digest, t.parameters, o.summary,
    k.best_ties AS ties
FROM contests AS k
JOIN sweeps AS s USING (sweep_no)
JOIN trials AS t ON t.trial_no = k.best_no
JOIN outcomes AS o ON o.trial_no = k.best_no
LEFT JOIN scores AS c ON c.sweep_no = t.sweep_no AND c.trial_index = t.trial_index
WHERE s.deleted_at IS NULL;

-- As before, with how many others of the group are exactly as good.
CREATE VIEW accuracy_table AS
SELECT
    s.sweep_id, s.name AS sweep_name, t.dataset, t.model, 'mean' AS selection, p.replicates, p.diverged,
    CASE WHEN p.losses > 0 THEN p.loss END AS validation_loss,
    CASE WHEN p.accuracies > 0 THEN p.accuracy END AS test_accuracy,
    CASE WHEN p.accuracies > 1 THEN sqrt(p.accuracy_spread / (p.accuracies - 1)) END AS test_accuracy_sd,
    p.parameter_count, json_integer(o.summary, 'train_size') AS train_size, json_integer(o.summary, 'test_size') AS test_size,
    json_integer(o.summary, 'length') AS length, json_integer(o.summary, 'classes') AS classes, json_integer(o.summary, 'depth') AS depth,
    NULL::bigint AS trial_index, json_without(t.parameters, 'seed') AS grid_point, k.lead_ties AS ties
FROM contests AS k
JOIN sweeps AS s USING (sweep_no)
JOIN points AS p ON p.sweep_no = k.sweep_no AND p.point_key = k.lead_key
JOIN trials AS t ON t.trial_no = p.sample_no
JOIN outcomes AS o ON o.trial_no = p.sample_no
WHERE s.deleted_at IS NULL
UNION ALL
SELECT
    sweep_id, sweep_name, dataset, model, 'single', 1, 0, validation_loss,
    test_accuracy, NULL, parameter_count, json_integer(summary, 'train_size'), json_integer(summary, 'test_size'),
    json_integer(summary, 'length'), json_integer(summary, 'classes'), json_integer(summary, 'depth'),
    trial_index, json_without(parameters, 'seed'), ties
FROM best_trials;

-- Table 4 and Table 2 of the paper: the data sets of the UCR archive, by their names of 2018 or 2015, and MNIST. Those of
-- other tasks are in accuracy_table alone.
CREATE VIEW ucr_table AS
SELECT * FROM accuracy_table WHERE lower(replace(replace(replace(dataset, ' ', ''), '_', ''), '-', '')) IN (
    '50words', 'acsf1', 'adiac', 'allgesturewiimotex', 'allgesturewiimotey', 'allgesturewiimotez', 'arrowhead', 'beef',
    'beetlefly', 'birdchicken', 'bme', 'car', 'cbf', 'chinatown', 'chlorineconcentration', 'cincecgtorso', 'coffee',
    'computers', 'cricketx', 'crickety', 'cricketz', 'crop', 'diatomsizereduction', 'distalphalanxoutlineagegroup',
    'distalphalanxoutlinecorrect', 'distalphalanxtw', 'dodgerloopday', 'dodgerloopgame', 'dodgerloopweekend',
    'earthquakes', 'ecg200', 'ecg5000', 'ecgfivedays', 'electricdevices', 'eoghorizontalsignal', 'eogverticalsignal',
    'ethanollevel', 'faceall', 'facefour', 'facesucr', 'fiftywords', 'fish', 'forda', 'fordb', 'freezerregulartrain',
    'freezersmalltrain', 'fungi', 'generatedcbf', 'gesturemidaird1', 'gesturemidaird2', 'gesturemidaird3',
    'gesturepebblez1', 'gesturepebblez2', 'gunpoint', 'gunpointagespan', 'gunpointmaleversusfemale',
    'gunpointoldversusyoung', 'ham', 'handoutlines', 'haptics', 'herring', 'housetwenty', 'inlineskate',
    'insectepgregulartrain', 'insectepgsmalltrain', 'insectwingbeatsound', 'italypowerdemand', 'largekitchenappliances',
    'lighting2', 'lighting7', 'lightning2', 'lightning7', 'mallat', 'meat', 'medicalimages', 'melbournepedestrian',
    'middlephalanxoutlineagegroup', 'middlephalanxoutlinecorrect', 'middlephalanxtw', 'mixedshapes',
    'mixedshapesregulartrain', 'mixedshapessmalltrain', 'motestrain', 'noninvasivefatalecgthorax1',
    'noninvasivefatalecgthorax2', 'noninvasivefetalecgthorax1', 'noninvasivefetalecgthorax2', 'oliveoil', 'osuleaf',
    'phalangesoutlinescorrect', 'phoneme', 'pickupgesturewiimotez', 'pigairwaypressure', 'pigartpressure', 'pigcvp',
    'plaid', 'plane', 'powercons', 'proximalphalanxoutlineagegroup', 'proximalphalanxoutlinecorrect', 'proximalphalanxtw',
    'refrigerationdevices', 'rock', 'screentype', 'semghandgenderch2', 'semghandmovementch2', 'semghandsubjectch2',
    'shakegesturewiimotez', 'shapeletsim', 'shapesall', 'smallkitchenappliances', 'smoothsubspace',
    'sonyaiborobotsurface', 'sonyaiborobotsurface1', 'sonyaiborobotsurface2', 'sonyaiborobotsurfaceii', 'starlightcurves',
    'strawberry', 'swedishleaf', 'symbols', 'syntheticcontrol', 'toesegmentation1', 'toesegmentation2', 'trace',
    'twoleadecg', 'twopatterns', 'umd', 'uwavegesturelibraryall', 'uwavegesturelibraryx', 'uwavegesturelibraryy',
    'uwavegesturelibraryz', 'wafer', 'wine', 'wordssynonyms', 'wordsynonyms', 'worms', 'wormstwoclass', 'yoga'
);

CREATE VIEW mnist_table AS
SELECT * FROM accuracy_table WHERE lower(replace(replace(replace(dataset, ' ', ''), '_', ''), '-', '')) IN ('mnist', 'permutedmnist');
