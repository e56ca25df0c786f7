"""The programs that `scripts/peers` compares fragscan with: how each is asked, and what it is known not to read.

A client says which protocols it `speaks`, and `read(protocol, addresses)` gives what it says of each address: columns
of fragscan's rows, or why there is no answer. `cannot_read` has, by protocol, servers that a client is known to fail
at: they are counted, and not compared.
"""

import asyncio
import importlib.metadata
import json
import re
import shutil
import socket
import struct
import subprocess
from pathlib import Path

NODE_MODULES = Path(__file__).resolve().parent.parent / "target/peers/node_modules"
TIMEOUT_S = 2
# A list, and then all servers that it names.
LIST_TIMEOUT_S = 20
SPLITNUM = b"splitnum\0\x80"


class Missing(Exception):
    """Why a client cannot be had."""


class Quakestat:
    """Debian: qstat."""

    speaks = {"a2s": "a2s", "hl1": "hlqs", "quake3": "q3s", "minecraft": "gs4", "ut3": "ut3s"}
    # Of a list in several datagrams it loses the last server of each but the last one.
    lists = {"valve-master": ("stm", lambda datagrams: 0), "quake3-master": ("q3m", lambda datagrams: datagrams - 1)}

    def __init__(self):
        self.cannot_read = {
            # It asks for `infostring` only; what else servers have says less.
            "hl1": lambda row: row["server_type"] is None,
            "minecraft": lambda row: head_of_stat(row) != SPLITNUM,
            # Of keys that go on in a second piece it loses some.
            "ut3": lambda row: row["fragments"] > 0,
        }
        self.program = found("quakestat")
        self.name = f"quakestat {words([self.program, '-v'])[-1]}"

    def read_list(self, kind, master):
        """The addresses that a list server names, and how many of them it loses in so many datagrams."""
        option, lost = self.lists[kind]
        command = [self.program, "-nh", "-raw", ";", "-timeout", str(LIST_TIMEOUT_S), f"-{option}", master]
        done = subprocess.run(command, capture_output=True, check=True, timeout=60)
        lines = [line.split(";") for line in done.stdout.decode(errors="replace").splitlines()]
        return {words[1] for words in lines if len(words) > 2 and words[1] != master}, lost

    def read(self, protocol, addresses):
        kind = f"-{self.speaks[protocol]}"
        targets = [word for ip, port in addresses for word in (kind, f"{ip}:{port}")]
        # The port is the one for queries. Names are in hex, since it leaves out of others what is not ASCII. Without
        # players it asks servers of GameSpy's protocols for a part that simulated ones do not know.
        command = [self.program, "-noportoffset", "-json", "-hsn", "-timeout", str(TIMEOUT_S)]
        command += [*(["-P"] if protocol in ("minecraft", "ut3") else []), *targets]
        done = subprocess.run(command, capture_output=True, check=True, timeout=60)
        answers = {}
        for server in json.loads(done.stdout):
            ip, _, port = server["address"].rpartition(":")
            answers[ip, int(port)] = server["status"]
            if server["status"] == "online":
                name = bytes.fromhex(server["name"]).decode(errors="replace")
                name = re.sub(r"\^\d", "", name) if protocol == "quake3" else name
                answers[ip, int(port)] = columns(name, server["map"], server["numplayers"], server["maxplayers"])
        return answers


class InPython:
    """A package that reads one server at a time: `ask` gives its columns."""

    def __init__(self):
        try:
            self.name = f"{self.package} {importlib.metadata.version(self.package)}"
        except importlib.metadata.PackageNotFoundError:
            raise Missing(f"{self.package} is not installed (PyPI)") from None

    def read(self, protocol, addresses):
        return asyncio.run(self.read_all(protocol, addresses))

    async def read_all(self, protocol, addresses):
        at_a_time = asyncio.Semaphore(20)

        async def one(address):
            async with at_a_time:
                try:
                    return await self.ask(protocol, *address)
                except Exception as error:  # whatever it fails with
                    return repr(error)

        return dict(zip(addresses, await asyncio.gather(*map(one, addresses))))


class PythonA2s(InPython):
    package = "python-a2s"
    speaks = {"a2s"}
    cannot_read = {}  # what it does not read of lists is said below

    TYPES = {"d": "dedicated", "l": "listen", "p": "proxy"}
    SYSTEMS = {"l": "linux", "w": "windows", "m": "macos", "o": "macos"}
    THE_SHIP = 2400

    async def ask(self, protocol, ip, port):
        # Not with its asyncio functions, which print a trace of what they cannot decompress.
        return await asyncio.to_thread(self.ask_in_turn, (ip, port))

    def ask_in_turn(self, address):
        import a2s

        info = a2s.info(address, timeout=TIMEOUT_S)
        answer = {
            "protocol_version": info.protocol,
            "name": info.server_name,
            "map": info.map_name,
            "folder": info.folder,
            "game": info.game,
            "app_id": info.app_id if info.game_id is None else info.game_id & 0xFFFFFF,
            "players": info.player_count,
            "max_players": info.max_players,
            "bots": info.bot_count,
            "server_type": self.TYPES[info.server_type],
            "os": self.SYSTEMS[info.platform],
            "password": info.password_protected,
            "vac": info.vac_enabled,
            "version": info.version,
            "game_port": info.port,
            "steam_id": None if info.steam_id is None else str(info.steam_id),
            "spectator_port": info.stv_port,
            "spectator_name": info.stv_name,
            "keywords": info.keywords,
            "game_id": None if info.game_id is None else str(info.game_id),
        }
        if info.app_id == self.THE_SHIP:
            del answer["version"]  # it does not know the three bytes before it, nor the block behind the players
            return answer
        # Split lists it mostly does not read: it decompresses each piece alone, and takes every reply for one with a
        # size field. What is absent is not compared.
        for column, query, read in [
            ("player_list", a2s.players, lambda players: [(p.name, p.score, p.duration) for p in players]),
            ("rules", a2s.rules, dict),
        ]:
            try:
                answer[column] = read(query(address, timeout=TIMEOUT_S))
            except (a2s.BrokenMessageError, OSError, UnicodeDecodeError):
                answer[column] = None
        return answer


class Opengsq(InPython):
    package = "opengsq"
    speaks = {"a2s", "hl1", "quake3", "fivem", "minecraft", "ut3", "bedrock"}

    def __init__(self):
        super().__init__()
        self.cannot_read = {
            # It asks for `details` only, and fails where a mod does not say which it is, which rows do not tell.
            "hl1": lambda row: row["mod_url"] is None,
            "minecraft": has_no_last_piece,
            # Of keys that go on in a second piece it loses some.
            "ut3": lambda row: row["fragments"] > 0,
            # It knows no escapes, and wants all twelve fields.
            "bedrock": lambda row: ";" in row["name"] or row["map"] is None,
        }

    async def ask(self, protocol, ip, port):
        from opengsq import protocols

        if protocol in ("a2s", "hl1"):
            info = await (protocols.Source if protocol == "a2s" else protocols.WON)(ip, port, TIMEOUT_S).get_info()
            return columns(info.name, info.map, info.players, info.max_players)
        if protocol in ("quake3", "fivem"):
            info = await protocols.Quake3(ip, port, TIMEOUT_S).get_info()
            return columns(info["hostname"], info["mapname"], info["clients"], info["sv_maxclients"])
        if protocol == "bedrock":
            pong = await protocols.RakNet(ip, port, TIMEOUT_S).get_status()
            return columns(pong.motd_line1, pong.motd_line2, pong.num_players, pong.max_players)
        info = (await protocols.GameSpy4(ip, port, TIMEOUT_S).get_status()).info
        level = info["p1073741825" if protocol == "ut3" else "map"]
        return columns(info["hostname"], level, info["numplayers"], info["maxplayers"])


class Mcstatus(InPython):
    package = "mcstatus"
    speaks = {"minecraft", "bedrock"}
    cannot_read = {"bedrock": lambda row: ";" in row["name"]}  # it knows no escapes

    async def ask(self, protocol, ip, port):
        from mcstatus import BedrockServer, JavaServer

        if protocol == "bedrock":
            pong = await BedrockServer(ip, port, TIMEOUT_S).async_status(tries=1)
            return columns(pong.motd.to_minecraft(), pong.map_name, pong.players.online, pong.players.max)
        stat = await JavaServer(ip, port, TIMEOUT_S).async_query(tries=1)
        # It takes every name for Latin-1.
        name = stat.raw["hostname"].encode("latin-1").decode()
        return columns(name, stat.map_name, stat.players.online, stat.players.max)


class Gamedig:
    """npm: gamedig, one protocol of it at a time, and without its guesses at other ports."""

    speaks = {
        "a2s": "valve",
        "quake3": "quake3",
        "fivem": "fivem",
        "minecraft": "gamespy3",
        "ut3": "ut3",
        "justcause2": "jc2mp",
        "bedrock": "minecraftbedrock",
    }
    # These it takes for Windows' Western European, in which some bytes mean nothing.
    WESTERN = {"quake3", "minecraft", "ut3"}

    def __init__(self):
        self.cannot_read = {
            "quake3": lambda row: not row["name"].isascii(),
            "minecraft": lambda row: not row["name"].isascii() or has_no_last_piece(row),
            # It does not read keys of a second piece.
            "ut3": lambda row: not row["name"].isascii() or row["fragments"] > 0,
            # It knows no escapes.
            "bedrock": lambda row: ";" in row["name"],
        }
        self.node, self.home = found("node"), NODE_MODULES / "gamedig"
        if not self.home.exists():
            raise Missing(f"gamedig is not installed (npm install --prefix {NODE_MODULES.parent} gamedig)")
        self.name = f"gamedig {json.loads((self.home / 'package.json').read_text(encoding='utf-8'))['version']}"

    def read(self, protocol, addresses):
        kind = f"protocol-{self.speaks[protocol]}"
        options = {"type": kind, "givenPortOnly": True, "socketTimeout": TIMEOUT_S * 1000}
        asked = [{**options, "address": ip, "port": port} for ip, port in addresses]
        command = [self.node, "--input-type=module", "-e", IN_NODE, str(self.home)]
        done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=True, timeout=120)
        answers = {}
        for line in done.stdout.splitlines():
            ip, port, answer = json.loads(line)
            if isinstance(answer, list):
                name, *others = answer
                if protocol in self.WESTERN:
                    name = name.encode("cp1252", errors="replace").decode(errors="replace")
                answer = columns(name, *others)
            answers[ip, port] = answer
        return answers


IN_NODE = """
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
const home = pathToFileURL(process.argv[1])
const { GameDig } = await import(home + '/lib/index.js')
// What it asks FiveM's servers for over HTTP besides is not compared, and simulated servers do not have it.
const { default: FiveM } = await import(home + '/protocols/fivem.js')
FiveM.prototype.request = async () => []
const gamedig = new GameDig({ listenUdpPort: 0 })
// One at a time: it listens only when it has sent, and misses replies that are faster.
for (const options of JSON.parse(readFileSync(0, 'utf8'))) {
  const answer = await gamedig.query(options).then(
    ({ name, map, raw, numplayers, maxplayers }) => [name, map || raw.map, numplayers, maxplayers],
    error => error.message)
  console.log(JSON.stringify([options.address, options.port, answer]))
}
"""

CLIENTS = [Quakestat, PythonA2s, Opengsq, Mcstatus, Gamedig]


def columns(name, level, players, slots):
    """The four columns that every client has. Most leave colours of Minecraft in, and some give numbers as text."""
    name = re.sub("§.", "", name)
    return {"name": name, "map": level or None, "players": int(players), "max_players": int(slots)}


def has_no_last_piece(row):
    """True for a server of Minecraft's that sends zeros where others send that this is the last piece."""
    return head_of_stat(row)[-1] & 0x80 == 0


def head_of_stat(row):
    """With what the stat of a server of Minecraft's begins, which is the same for all who read it as that game's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(TIMEOUT_S)
        asking.connect((row["ip"], row["port"]))
        asking.send(b"\xfe\xfd\x09\0\0\0\1")
        token = int(asking.recv(2048)[5:].rstrip(b"\0"))
        asking.send(b"\xfe\xfd\0\0\0\0\1" + struct.pack(">iI", token, 0))
        return asking.recv(65535)[5:15]


def found(program):
    """The path of a program; those of games are not always on the path."""
    path = shutil.which(program) or shutil.which(program, path="/usr/games:/usr/local/games")
    if path is None:
        raise Missing(f"{program} is not installed")
    return path


def words(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=20).stdout.split()
