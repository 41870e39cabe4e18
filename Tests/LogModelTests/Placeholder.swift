import LogModel
