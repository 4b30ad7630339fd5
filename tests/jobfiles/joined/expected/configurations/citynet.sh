faces
digits
