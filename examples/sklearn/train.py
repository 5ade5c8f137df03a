"""Classifies the handwritten digits that come with scikit-learn."""

import wandb
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.preprocessing import MinMaxScaler
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC


def main():
    with wandb.init(project="digits") as run:
        seed = run.config.seed
        if run.config.model == "svm":
            model = SVC(**run.config.svm)
        else:
            model = RandomForestClassifier(random_state=seed, **run.config.forest)
        x, y = load_digits(return_X_y=True)
        folds = StratifiedKFold(3, shuffle=True, random_state=seed)
        scores = cross_validate(make_pipeline(MinMaxScaler(), model), x, y, cv=folds, scoring=("accuracy", "f1_macro"))
        for fold, (accuracy, f1) in enumerate(zip(scores["test_accuracy"], scores["test_f1_macro"])):
            run.log({"fold_accuracy": accuracy, "fold_f1": f1}, step=fold)
        run.summary["accuracy"] = scores["test_accuracy"].mean()
        run.summary["f1"] = scores["test_f1_macro"].mean()


if __name__ == "__main__":
    main()
