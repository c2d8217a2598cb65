"""What the service is compared with: FastAPI and Pydantic as their tutorials have it, which parses, and returns the
same JSON. ``python -m benchmarks.service_plain PORT``.
"""

import sys

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel


class Example(BaseModel):
    """What comes in."""

    features: dict[str, float]
    reasons: int = 5


class Reason(BaseModel):
    """Part of what goes out."""

    feature: str
    contribution: float


class Prediction(BaseModel):
    """What goes out."""

    id: str
    label: str
    score: float
    margin: float
    undecided: bool
    reasons: list[Reason]


app = FastAPI()


@app.post("/predict")
async def predict(example: Example) -> Prediction:
    """Parse, and return the same JSON as a prediction, without predicting."""
    some = [Reason(feature=name, contribution=value) for name, value in [*example.features.items()][:5]]
    return Prediction(
        id="4c32.1b8a7d11.0", label="a", score=1.0375, margin=1.0375, undecided=False, reasons=some
    )


if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[1]), access_log=False, log_level="warning")
