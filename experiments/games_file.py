"""One row a game: `games.parquet`, written chunk by chunk beside its place and renamed when it is whole."""

from pathlib import Path
from typing import Any

import numpy as np

from experiments.options import Setting
from sim.codes import Ending
from sim.errors import DartmoorError
from sim.rules import SHARES, WINTERS
from sim.species import box_species


class GamesFile:
    """A Parquet file of outcomes: seed, game, caves, scores, win shares, turns, winters, ending, plays per species."""

    def __init__(self, path: Path, setting: Setting) -> None:
        """Open the temporary file.

        Raises
        ------
        DartmoorError
            pyarrow is not installed, or the file cannot be written.
        """
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError as error:
            raise DartmoorError(
                "--games-out: needs pyarrow, install it with: pip install 'dartmoor[parquet]'"
            ) from error
        self.path, self.setting = path, setting
        self.temporary = path.with_name(f".{path.name}.tmp")
        self.table = pa.table
        self.schema = self.table(self._columns(np.zeros(0, _outcome_dtype()))).schema
        try:
            self.writer: Any = pq.ParquetWriter(self.temporary, self.schema, compression="zstd")
        except OSError as error:
            raise DartmoorError(f"{path}: cannot be written: {error.strerror}") from error

    def _columns(self, outcomes: np.ndarray) -> dict[str, Any]:
        numbers = np.array([cave.number for cave in self.setting.world.caves], np.uint8)
        endings = np.array([ending.name.lower() for ending in Ending])
        columns: dict[str, Any] = {
            "seed": np.full(len(outcomes), self.setting.seed, np.int64),
            "game": outcomes["game"].astype(np.int64),
            "first": outcomes["first"],
            "turns": outcomes["turns"],
            "rounds": outcomes["rounds"],
            "decisions": outcomes["decisions"],
            "stack_left": outcomes["stack_left"],
            "ending": endings[outcomes["ending"]],
        }
        for winter in range(WINTERS):
            columns[f"winter_{winter + 1}_turn"] = outcomes["winter_turn"][:, winter]
        for seat in range(self.setting.players):
            policy = self.setting.seats[seat].name
            columns[f"seat_{seat}_policy"] = np.full(len(outcomes), policy)
            columns[f"seat_{seat}_cave"] = numbers[outcomes["cave"][:, seat]]
            columns[f"seat_{seat}_score"] = outcomes["score"][:, seat]
            columns[f"seat_{seat}_win_share"] = outcomes["share"][:, seat] / SHARES
        for code, species in enumerate(box_species()):
            columns[f"played_{species.key}"] = outcomes["copies"][:, : self.setting.players, code].sum(
                axis=1, dtype=np.uint8
            )
        return columns

    def add(self, outcomes: np.ndarray) -> None:
        """Append the rows of outcomes (dtype OUTCOME).

        Raises
        ------
        DartmoorError
            The disk is full or gone.
        """
        try:
            self.writer.write_table(self.table(self._columns(outcomes), schema=self.schema))
        except OSError as error:
            raise DartmoorError(f"{self.path}: cannot be written: {error.strerror or error}") from error

    def finish(self) -> None:
        """Close the file and put it in its place."""
        try:
            self.writer.close()
            self.temporary.replace(self.path)
        except OSError as error:
            raise DartmoorError(f"{self.path}: cannot be written: {error.strerror or error}") from error

    def discard(self) -> None:
        """Remove what is left of an unfinished file."""
        self.temporary.unlink(missing_ok=True)


def _outcome_dtype() -> np.dtype:
    from sim.play import OUTCOME

    return OUTCOME
