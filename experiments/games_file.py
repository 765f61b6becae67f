"""One row a game: `games.parquet`, in row groups of fixed size, put in its place when it is whole.

A run with a checkpoint keeps its rows in part files until the end. The row groups of the finished file depend on the
games alone, so it has the same bytes however often the run was stopped.
"""

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from experiments.files import REASONS, write_atomic
from experiments.options import Setting
from sim.codes import Ending
from sim.errors import DartmoorError
from sim.play import OUTCOME
from sim.rules import SHARES, WINTERS
from sim.species import box_species

ROW_GROUP = 20_000  # games; some 3 MB in memory
PARTS = ".games_parts"  # directory of part files beside the finished file


class GamesWriter:
    """Writes rows into a Parquet file, in groups of ROW_GROUP."""

    def __init__(self, path: Path, schema: Any, shown: Path) -> None:
        """Open `path`; errors speak of the file `shown`."""
        import pyarrow.parquet as pq

        self.path, self.schema, self.shown = path, schema, shown
        self.waiting: list[Any] = []
        self.rows = 0
        with self._told_errors():
            self.writer: Any = pq.ParquetWriter(path, schema, compression="zstd")

    @contextmanager
    def _told_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = REASONS.get(error.errno or 0, error.strerror or str(error))
            raise DartmoorError(f"{self.shown}: cannot be written: {reason}") from error

    def add(self, table: Any) -> None:
        """Append rows (a pyarrow table).

        Raises
        ------
        DartmoorError
            The disk is full or gone.
        """
        self.waiting.append(table)
        self.rows += table.num_rows
        while self.rows >= ROW_GROUP:
            self._write(ROW_GROUP)

    def _write(self, count: int) -> None:
        import pyarrow as pa

        # One piece: how rows arrived must not show in the file.
        table = pa.concat_tables(self.waiting).combine_chunks()
        with self._told_errors():
            self.writer.write_table(table.slice(0, count).combine_chunks(), row_group_size=count)
        self.waiting, self.rows = [table.slice(count)], self.rows - count

    def close(self) -> None:
        """Write what waits, and close the file.

        Raises
        ------
        DartmoorError
            The disk is full or gone.
        """
        if self.rows:
            self._write(self.rows)
        with self._told_errors():
            self.writer.close()

    def discard(self) -> None:
        """Close and remove an unfinished file."""
        with suppress(OSError):
            self.writer.close()
        with suppress(OSError):
            self.path.unlink()


class GamesFile:
    """A Parquet file of outcomes: seed, game, caves, scores, win shares, turns, winters, ending, plays per species."""

    def __init__(self, path: Path, setting: Setting, parts: list[str] | None = None) -> None:
        """Begin the file `path`.

        Parameters
        ----------
        path
            The finished file.
        setting
            Of the run.
        parts
            For a run with a checkpoint: the files beside `path` that hold the rows so far; others are removed.

        Raises
        ------
        DartmoorError
            pyarrow is not installed, a part is gone, or nothing can be written.
        """
        try:
            import pyarrow as pa
        except ImportError as error:
            raise DartmoorError(
                "--games-out: needs pyarrow, install it with: pip install '.[parquet]' in the project's folder"
            ) from error
        self.path, self.setting = path, setting
        self.table = pa.table
        self.schema = self.table(self._columns(np.zeros(0, OUTCOME))).schema
        self.temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
        self.has_parts = parts is not None
        self.parts = list(parts or ())
        self.writer: GamesWriter | None = None
        self.next_game = 0
        if self.has_parts:
            self._prepare_parts()
        else:
            self.writer = GamesWriter(self.temporary, self.schema, path)

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

    def _prepare_parts(self) -> None:
        for name in self.parts:
            if not (self.path.parent / name).is_file():
                raise DartmoorError(f"{self.path.parent / name}: gone, and with it rows of the games so far")
        folder = self.path.with_name(PARTS)
        try:
            folder.mkdir(exist_ok=True)
            for found in folder.iterdir():
                if f"{PARTS}/{found.name}" not in self.parts:
                    found.unlink()
        except OSError as error:
            raise DartmoorError(f"{folder}: cannot be written: {error.strerror}") from error

    def add(self, outcomes: np.ndarray) -> None:
        """Append the rows of outcomes (dtype OUTCOME).

        Raises
        ------
        DartmoorError
            The disk is full or gone.
        """
        if self.writer is None:
            name = f"{int(outcomes['game'][0]):015}.parquet"
            self.writer = GamesWriter(self.path.with_name(PARTS) / f".{name}.tmp", self.schema, self.path)
        self.next_game = int(outcomes["game"][-1]) + 1
        self.writer.add(self.table(self._columns(outcomes), schema=self.schema))

    def commit(self) -> list[str]:
        """Close the part in hand and return the names of all parts, which now hold every row added.

        Raises
        ------
        DartmoorError
            The disk is full or gone.
        """
        if self.writer is not None:
            self.writer.close()
            part = self.writer.path.with_name(f"until_{self.next_game:015}.parquet")
            write_atomic(part, self.writer.path.replace)
            self.writer = None
            self.parts.append(f"{PARTS}/{part.name}")
        return self.parts

    def finish(self) -> list[str]:
        """Put the whole file in its place and return its name as the only part; `forget_parts` may follow.

        Raises
        ------
        DartmoorError
            The disk is full or gone.
        """
        if self.has_parts:
            self.commit()
            self._merge()
        assert self.writer is not None
        self.writer.close()
        write_atomic(self.path, self.temporary.replace)
        self.writer = None
        return [self.path.name]

    def _merge(self) -> None:
        import pyarrow.parquet as pq

        self.writer = GamesWriter(self.temporary, self.schema, self.path)
        for name in self.parts:
            with pq.ParquetFile(self.path.parent / name) as part:
                for group in range(part.num_row_groups):
                    self.writer.add(part.read_row_group(group).cast(self.schema))

    def forget_parts(self) -> None:
        """Remove the part files, once nothing refers to them."""
        shutil.rmtree(self.path.with_name(PARTS), ignore_errors=True)

    def discard(self) -> None:
        """Remove what is left of an unfinished file; committed parts stay."""
        if self.writer is not None:
            self.writer.discard()
            self.writer = None
